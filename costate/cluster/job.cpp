#include "costate/cluster/job.h"

#include <algorithm>

namespace costate::cluster {

Block Partition::at(std::int64_t number) const {
  const std::int64_t first = number * block;
  return {first, std::min(block, worlds - first)};
}

void check(const Partition& partition) {
  if (partition.worlds < 1 || partition.block < 1)
    throw Error({"a job of " + std::to_string(partition.worlds) + " worlds in blocks of " +
                     std::to_string(partition.block),
                 "", "both are at least 1"});
}

Part part_of_node(const Job& job, const std::vector<double>& theta, Want want, Node node) {
  const Partition partition = job.partition();
  if (node.level > 0) {
    Part lower = part_of_node(job, theta, want, node.lower());
    if (node.upper().first() >= partition.blocks()) return lower;
    return sum(std::move(lower), part_of_node(job, theta, want, node.upper()));
  }
  Part part;
  try {
    part = job.part(theta, partition.at(node.index), want);
  } catch (const Error& error) {
    part.failure = {error.message(), error.kind()};
  } catch (const std::exception& error) {
    part.failure = {{std::string("internal error: ") + error.what(), "", ""}, Error::Kind::numerics};
  }
  if (part.failure) {  // which worlds it was, where the message does not say so
    std::string& where = part.failure->message.where;
    const Block block = partition.at(node.index);
    where = "block " + std::to_string(node.index) + " (worlds " + std::to_string(block.first) + " to " +
            std::to_string(block.first + block.count - 1) + ")" + (where.empty() ? "" : ", ") + where;
  }
  return part;
}

}  // namespace costate::cluster
