// Log: finished work in an append-only file, so that a driver that was killed goes on where it was.
//
//   costate cluster log 1 <identity of the job>
//   <fingerprint of the point> <level> <index> <Part, hexadecimal> <fingerprint of this line>
//
// A run is resumed by running it again with the same log: what it asks for and the log has is read instead of
// computed. An optimiser asks for the same points again, because it is deterministic, so it arrives within
// moments at the iteration where it was killed. The last line may be torn; it is dropped. A wrong line
// before it is an Error. One run at a time writes a log: the file is locked as long as it is open.
// Tests: tests/cluster/pool_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "costate/cluster/part.h"
#include "costate/cluster/tree.h"

namespace costate::cluster {

class Log {
 public:
  // `identity`: of the job, with everything that its Parts depend on besides theta. Error where the file is
  // the log of another job, is written by another run, or cannot be written.
  Log(const std::string& path, const std::string& identity);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // The nodes of a point that are there, larger ones first. `key`: key_of() of it.
  std::vector<std::pair<Node, Part>> of(const std::string& key) const;
  // Error where there is no room; what was written of the line is taken back.
  void append(const std::string& key, Node node, const Part& part);

  static std::string key_of(const std::vector<double>& theta, bool gradient);

 private:
  void open();
  void read(const std::string& identity);
  void write(const std::string& line);
  std::string path_;
  std::map<std::string, std::map<Node, std::string>> known_;  // Parts as bytes
  int file_ = -1;
  std::int64_t size_ = 0;  // of the whole lines
};

}  // namespace costate::cluster
