// The first columns of a dense Cholesky factorisation, and the update of what is below them.
//
//   [A11    ]   [L11    ] [L11' L21']           A22 - L21 L21' replaces A22
//   [A21 A22] = [L21  I ] [   ...   ]
//
// Column-major with the given stride, lower half. Panels of kPanel columns are factored column by column;
// what is to their right is updated in tiles that stay in registers. A tile may reach beyond the matrix: A
// has kSpareRows more rows (so that stride >= size + kSpareRows) and kSpareColumns more columns, which hold
// numbers of no meaning, but numbers. So do the kSpareColumns rows above the diagonal.
// Tests: tests/solve/block_cholesky_test.cpp.
#pragma once

namespace costate::solve {

inline constexpr int kSpareRows = 16, kSpareColumns = 8;

// False where a pivot is not positive.
bool factor_columns(double* A, int size, int columns, int stride);
bool factor_columns(float* A, int size, int columns, int stride);

}  // namespace costate::solve
