#include "costate/cluster/log.h"

#include <filesystem>
#include <sstream>

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
  return bool(words >> line.key >> line.node.level >> line.node.index >> hex) && from_hex(hex, line.bytes);
}

}  // namespace

std::string Log::key_of(const std::vector<double>& theta, bool gradient) {
  return fingerprint(Writer().numbers(theta).integer(gradient).bytes());
}

Log::Log(const std::string& path, const std::string& identity) : path_(path) {
  read(fingerprint(identity));
  file_.open(path, std::ios::app | std::ios::binary);
  std::error_code trouble;
  if (file_ && std::filesystem::file_size(path, trouble) == 0)
    file_ << kHead << fingerprint(identity) << "\n" << std::flush;
  if (!file_) throw Error({"the log cannot be written", path, "choose another place for it"});
}

void Log::read(const std::string& identity) {
  std::ifstream in(path_, std::ios::binary);
  std::string text;
  std::uint64_t good = 0;
  for (std::int64_t number = 1; std::getline(in, text); ++number) {
    const bool whole = !in.eof();  // a line that ends with the file has no newline: torn
    Line line;
    if (number == 1 ? !text.starts_with(kHead) && whole : !parse(text, line) && whole) {
      if (number > 1 && in.peek() == std::ifstream::traits_type::eof()) break;  // torn, by a full disk
      throw Error({"this is not a line of a log of finished blocks", path_ + ":" + std::to_string(number),
                   "delete the file to begin again"});
    }
    if (!whole) break;
    if (number == 1 && text != kHead + identity)
      throw Error(
          {"this log belongs to another job: " + text.substr(sizeof(kHead) - 1) + " instead of " + identity,
           path_, "delete the file, or give this job a log of its own"});
    good += text.size() + 1;
    if (number > 1) known_[line.key][line.node] = std::move(line.bytes);
  }
  in.close();
  std::error_code trouble;
  if (std::filesystem::exists(path_, trouble)) std::filesystem::resize_file(path_, good, trouble);
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
  file_ << line << " " << fingerprint(line) << "\n" << std::flush;
  if (!file_) throw Error({"the log of finished blocks cannot be written", path_, "is there room?"});
  known_[key][node] = bytes;
}

}  // namespace costate::cluster
