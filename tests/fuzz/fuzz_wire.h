// One input of the fuzzer: what a worker, or a driver, might send over its socket. The first byte says who it
// is and whether the rest are bytes of the stream itself, or edits of a right conversation: (place, byte)
// pairs. Whatever arrives, reading ends in events of which every Part is written and read again as the same,
// or in an Error with a message. Nothing is allocated that the message does not hold.
#pragma once

#include <string>

#include "costate/cluster/worker.h"

namespace costate::fuzz {

class TwoBlocks final : public cluster::Job {
 public:
  cluster::Partition partition() const override { return {5, 3}; }
  std::string identity() const override { return "two blocks"; }
  cluster::Part part(const std::vector<double>& theta, const cluster::Block& block,
                     cluster::Want) const override {
    cluster::Part part;
    part.value = double(block.first), part.sums = theta;
    part.report.label = "exact", part.report.masked_worlds = {block.first};
    part.report.advice = {"one", "two"}, part.report.energy_drift = 0.5;
    if (block.first > 0) throw Error({"it diverged", "world 3", "try less"}, Error::Kind::numerics);
    return part;
  }
};

inline std::string right_conversation(bool of_driver) {
  using namespace cluster;
  const TwoBlocks job;
  const std::vector<double> theta{1, 2, 3};
  std::string all = of_driver ? frame(Frame::job, job_payload(identity_of(job), "described"))
                              : frame(Frame::hello, to_bytes(identity_of(job)));
  for (const std::int64_t block : {0, 1}) {
    const Work work{7, {0, {0, block}}, Want::gradient, &theta};
    if (of_driver)
      all += frame(Frame::theta, theta_payload(work)) + frame(Frame::task, task_payload(work));
    else
      all += frame(Frame::part, answer_to_task(job, theta, work.want, task_payload(work)));
  }
  return all;
}

inline std::string stream_of(const std::string& input, bool& of_driver) {
  const int how = input.empty() ? 0 : static_cast<unsigned char>(input[0]);
  of_driver = how & 1;
  if ((how & 2) == 0) return input.substr(input.empty() ? 0 : 1);
  std::string bytes = right_conversation(of_driver);
  for (std::size_t i = 1; i + 2 < input.size(); i += 3) {
    const std::size_t at =
        static_cast<unsigned char>(input[i]) + 256U * static_cast<unsigned char>(input[i + 1]);
    bytes[at % bytes.size()] = input[i + 2];
  }
  if (how & 4) bytes.resize(bytes.size() - std::size_t(how) % bytes.size());
  return bytes;
}

// Returns what happened, for tests: "read", or the first line of the message.
inline std::string fuzz_wire(const std::string& input) {
  using namespace cluster;
  const TwoBlocks job;
  try {
    bool of_driver = false;
    std::string bytes = stream_of(input, of_driver), payload;
    std::vector<double> theta;
    for (Frame kind; take_frame(bytes, kind, payload);) {
      if (!of_driver) {
        const Event event = event_of(3, kind, payload, identity_of(job));
        if (to_bytes(part_of(to_bytes(event.part))) != to_bytes(event.part)) __builtin_trap();
      } else if (kind == Frame::theta) {
        Reader from(payload);
        from.integer();
        theta = from.numbers();
      } else if (kind == Frame::task) {
        answer_to_task(job, theta, Want::gradient, payload);
      }
    }
    return "read";
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.empty()) __builtin_trap();
    return message.substr(0, message.find('\n'));
  }
}

}  // namespace costate::fuzz
