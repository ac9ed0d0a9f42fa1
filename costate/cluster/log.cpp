#include "costate/cluster/log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "costate/cluster/bytes.h"

namespace costate::cluster {
namespace {

constexpr char kHead[] = "costate cluster log 1 ";

struct Line {
  std::string key, bytes;
  Node node;
};

bool parse(const std::string& text, Line& line) {
  const std::size_t last = text.rfind(' ');
  if (last == std::string::npos || fingerprint(text.substr(0, last)) != text.substr(last + 1)) return false;
  std::istringstream words(text.substr(0, last));
  std::string hex;
  return bool(words >> line.key >> line.node.level >> line.node.index >> hex) && line.node.level >= 0 &&
         line.node.level < 63 && line.node.index >= 0 && from_hex(hex, line.bytes);
}
// The first line, or what a killed run has written of it. Anything else is somebody's file, and stays.
bool is_head(const std::string& text, bool whole) {
  const std::string head = kHead;
  return text.starts_with(head) || (!whole && head.starts_with(text));
}

}  // namespace

std::string Log::key_of(const std::vector<double>& theta, bool gradient) {
  return fingerprint(Writer().numbers(theta).integer(gradient).bytes());
}

Log::Log(const std::string& path, const std::string& identity) : path_(path) {
  open();
  try {
    read(fingerprint(identity));
    if (size_ == 0) write(kHead + fingerprint(identity));
  } catch (...) {
    ::close(file_);
    throw;
  }
}

Log::~Log() { ::close(file_); }

void Log::open() {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  struct stat about = {};
  if (file_ >= 0 && ::fstat(file_, &about) == 0 && !S_ISREG(about.st_mode)) {
    ::close(file_);
    throw Error({"the log is not a file", path_, "choose another place for it"});
  }
  if (file_ < 0)
    throw Error({std::string("the log cannot be written: ") + std::strerror(errno), path_,
                 "choose another place for it"});
  // Workers of a driver that was killed a moment ago are still ending, and hold the lock so long.
  for (int tries = 0; ::flock(file_, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK) return;  // a file system without locks
    if (tries == 20) {
      ::close(file_);
      throw Error({"another run is writing this log", path_, "wait for its end, or give this run its own"});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void Log::read(const std::string& identity) {
  std::ifstream in(path_, std::ios::binary);
  std::string text;
  for (std::int64_t number = 1; std::getline(in, text); ++number) {
    const bool whole = !in.eof();  // a line that ends with the file has no newline: torn
    Line line;
    if (number == 1 ? !is_head(text, whole) : !parse(text, line) && whole) {
      if (number > 1 && in.peek() == std::ifstream::traits_type::eof()) break;  // torn, by a full disk
      throw Error({"this is not a line of a log of finished blocks", path_ + ":" + std::to_string(number),
                   "delete the file to begin again, or choose another place for the log"});
    }
    if (!whole) break;
    if (number == 1 && text != kHead + identity)
      throw Error(
          {"this log belongs to another job: " + text.substr(sizeof(kHead) - 1) + " instead of " + identity,
           path_, "delete the file, or give this job a log of its own"});
    size_ += std::int64_t(text.size()) + 1;
    if (number > 1) known_[line.key][line.node] = std::move(line.bytes);
  }
  if (::ftruncate(file_, size_) != 0)
    throw Error({std::string("the log cannot be written: ") + std::strerror(errno), path_,
                 "choose another place for it"});
}

// A line as a whole, or nothing of it.
void Log::write(const std::string& text) {
  const std::string line = text + "\n";
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t n = ::write(file_, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const std::string why = n < 0 ? std::strerror(errno) : "nothing was written";
      if (::ftruncate(file_, size_) != 0) {  // then the line is torn, and dropped by the next run
      }
      throw Error({"the log of finished blocks cannot be written: " + why, path_,
                   "make room, and run again: what it has is not computed again"});
    }
    done += std::size_t(n);
  }
  size_ += std::int64_t(line.size());
}

std::vector<std::pair<Node, Part>> Log::of(const std::string& key) const {
  std::vector<std::pair<Node, Part>> found;
  const auto nodes = known_.find(key);
  if (nodes == known_.end()) return found;
  for (auto node = nodes->second.rbegin(); node != nodes->second.rend(); ++node)
    found.emplace_back(node->first, part_of(node->second));
  return found;
}

void Log::append(const std::string& key, Node node, const Part& part) {
  const std::string bytes = to_bytes(part);
  const std::string line =
      key + " " + std::to_string(node.level) + " " + std::to_string(node.index) + " " + to_hex(bytes);
  write(line + " " + fingerprint(line));
  known_[key][node] = bytes;
}

}  // namespace costate::cluster
