// LayeredProgram: a Program with its large matrix products taken out.
//
//   e_k = g_k(inputs, d_0, ..., d_{k-1})       straight code, per world
//   d_k = W_k e_k                              a dense product; W_k are numbers of an input field
//   y   = g_K(inputs, d_0, ..., d_{K-1})
//
// As straight code a layer of 64 x 64 weights is 4096 multiplications, each an instruction of its own; as a
// product it is three loops. A recording that meets one makes its result the input field "dense/k" and its
// vector the output field "dense/k/in", so that what remains is an ordinary Program, to be cut into parts and
// differentiated like any other. LayeredSystem runs it; expand() gives the plain Program back.
//
// Tests: tests/ad/layered_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "costate/ad/program.h"

namespace costate::ad {

// Element (i, j) of W is number offset + i * row_stride + j * column_stride of the field `weights`.
struct DenseProduct {
  std::string weights;
  int rows = 0, columns = 0;
  int offset = 0, row_stride = 0, column_stride = 0;

  int place(int i, int j) const { return offset + i * row_stride + j * column_stride; }
};

struct LayeredProgram {
  Program program;  // output fields: the values of the function first, then the vectors of the products
  std::vector<DenseProduct> products;
};

std::string product_field(std::size_t k);  // d_k among the inputs
std::string vector_field(std::size_t k);   // e_k among the outputs

// The same function without holes: products written out, inputs and outputs as before them.
Program expand(const LayeredProgram& layered);

// The program of some of the output fields, with the input fields that these need and no others.
Program part(const Program& program, const std::vector<int>& output_fields);

// The program with its output field f taken as known: an input field of the same name stands for it wherever
// it was used, and the output is gone. A transpose that is given the value of tanh need not compute it again.
Program assume(const Program& program, int output_field);

// Programs whose every output is op(argument): the program of the arguments, with the same fields. Nothing if
// one is not.
std::optional<Program> arguments_of(const Program& program, Op op);

}  // namespace costate::ad
