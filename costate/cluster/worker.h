// What a worker process and its driver say to each other, over one socket or a pair of pipes. A frame is
//
//   length of what follows (8 bytes), kind (1 byte), payload (bytes.h)
//
//   driver   job    identity (version, instruction set, mathematics, job), description
//   worker   hello  identity;  or  error  what, where, advice, numerics
//   driver   theta  want, numbers                            once for all tasks of a point
//            task   call, point, level, index
//   worker   part   call, point, level, index, seconds, Part
//
// A worker ends when its input ends. Jobs travel as data: a worker program makes them from a description that
// it understands, and runs no code that it is sent.
// Tests: tests/cluster/processes_test.cpp.
#pragma once

#include <functional>
#include <string>

#include "costate/cluster/transport.h"

namespace costate::cluster {

enum class Frame : char { job = 'J', hello = 'H', error = 'E', theta = 'X', task = 'T', part = 'P' };

// Bytes of a frame, ready to be written.
std::string frame(Frame kind, const std::string& payload);
// Takes a whole frame off the front of `buffer`; false: it is not there yet. Error where it is none.
bool take_frame(std::string& buffer, Frame& kind, std::string& payload);

std::string job_payload(const Identity& identity, const std::string& description);
std::string theta_payload(const Work& work);
std::string task_payload(const Work& work);
// Computes a task: the payload of the answer. Error where the job has no such blocks.
std::string answer_to_task(const Job& job, const std::vector<double>& theta, Want want,
                           const std::string& task);
// Reads what serve() answers. Error: what the worker says that is wrong, or a refusal.
Event event_of(int worker, Frame kind, const std::string& payload, const Identity& driver);

// Computes what arrives on `in` and answers on `out` until `in` ends; what main() returns. `make`: the job of
// a description.
int serve(int in, int out, const std::function<std::unique_ptr<Job>(const std::string& description)>& make);
// The same for a job that is there already.
int serve(int in, int out, const Job& job);

}  // namespace costate::cluster
