#include "costate/cluster/world/snapshot.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "costate/cluster/bytes.h"

namespace costate::cluster {
namespace {

using Index = std::int64_t;

constexpr const char* kTitle = "costate split state 1";

[[noreturn]] void damaged(const std::string& file, const std::string& what) {
  throw Error({what, file, "the snapshot is damaged, or of another world: write it again"});
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error({"this file cannot be read", path, "give the path of a manifest that exists"});
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}
void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  file.flush();
  if (!file) throw Error({"this file cannot be written", path, "choose a folder that exists and has room"});
}

// What a manifest says about the world itself.
template <class Real>
std::string head_of(const SplitSystem<Real>& world) {
  std::ostringstream text;
  text << kTitle << "\nreal " << sizeof(Real) << "\nelements " << world.elements() << "\n";
  const auto& fields = world.signature().fields(Role::state);
  for (std::size_t f = 0; f < fields.size(); ++f)
    text << "field " << fields[f].name << " " << world.fields.width[f] << "\n";
  return text.str();
}

// Files that a manifest names, in its folder.
std::set<std::string> files_of(const std::string& manifest) {
  std::set<std::string> files;
  if (!manifest.starts_with(kTitle)) return files;
  std::istringstream lines(manifest);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, name;
    if (words >> word >> name && word == "file" && name.find('/') == std::string::npos) files.insert(name);
  }
  return files;
}

void replace_manifest(const std::string& path, const std::string& manifest) {
  std::error_code trouble;
  const std::set<std::string> before =
      std::filesystem::exists(path, trouble) ? files_of(read_file(path)) : std::set<std::string>();
  write_file(path + ".new", manifest);
  std::filesystem::rename(path + ".new", path, trouble);
  if (trouble)
    throw Error({"this file cannot be replaced: " + trouble.message(), path, "choose another place"});
  const std::set<std::string> now = files_of(manifest);
  const std::filesystem::path at(path);
  for (const std::string& name : before)
    if (now.count(name) == 0 && name.starts_with(at.filename().string() + "."))
      std::filesystem::remove(at.parent_path() / name, trouble);
}

}  // namespace

template <class Real>
void write_snapshot(const std::string& path, const SplitSystem<Real>& world, const Piece<Real>& x,
                    std::int64_t step) {
  const std::size_t total = std::size_t(world.fields.total);
  std::string bytes = message_of(x.elements.data(), x.count());
  std::vector<Real> row(total);
  for (Index s = 0; s < x.count(); ++s) {
    world.fields.read(x, x.first + s, row.data());
    bytes += message_of(row.data(), world.fields.total);
  }
  const std::string mark = fingerprint(bytes),
                    mine = path + "." + std::to_string(world.channel().rank()) + "." + mark;
  std::string trouble;
  try {
    write_file(mine, bytes);
  } catch (const Error& error) {
    trouble = error.what();
  }
  const std::string line =
      std::filesystem::path(mine).filename().string() + " " + std::to_string(x.count()) + " " + mark;
  // Every rank learns who could not write, so that all stop.
  const auto said = world.channel().gather(trouble.empty() ? "file " + line + "\n" : "! " + trouble);
  std::string manifest = head_of(world) + "step " + std::to_string(step) + "\n";
  for (const std::string& words : said) {
    if (words.starts_with("! ")) throw Error(words.substr(2));
    manifest += words;
  }
  trouble.clear();
  if (world.channel().rank() == 0) {
    try {
      replace_manifest(path, manifest);
    } catch (const Error& error) {
      trouble = error.what();
    }
  }
  const std::string end = world.channel().gather(trouble)[0];  // nobody goes on before the manifest is there
  if (!end.empty()) throw Error(end);
}

template <class Real>
Snapshot<Real> read_snapshot(const std::string& path, const SplitSystem<Real>& world) {
  const std::string manifest = read_file(path), head = head_of(world);
  if (!manifest.starts_with(head)) damaged(path, "this is not the manifest of such a world");
  std::istringstream lines(manifest.substr(head.size()));
  std::string word;
  Snapshot<Real> snapshot;
  if (!(lines >> word >> snapshot.step) || word != "step") damaged(path, "the manifest has no step");

  const std::size_t total = std::size_t(world.fields.total), each = sizeof(Index) + total * sizeof(Real);
  std::vector<Index> elements;
  std::vector<Real> rows, row(total);
  std::vector<bool> seen(std::size_t(world.elements()), false);
  Index found = 0;
  std::string name, mark;
  for (std::size_t count = 0; lines >> word >> name >> count >> mark;) {
    const std::string file = (std::filesystem::path(path).parent_path() / name).string();
    if (word != "file" || name.find('/') != std::string::npos) damaged(path, "the manifest has a wrong line");
    const std::string bytes = read_file(file);
    if (bytes.size() / each != count || bytes.size() % each != 0 || fingerprint(bytes) != mark)
      damaged(file, "this file is not what its manifest says");
    for (std::size_t i = 0; i < count; ++i) {
      Index element = 0;
      std::memcpy(&element, bytes.data() + i * sizeof element, sizeof element);
      std::memcpy(row.data(), bytes.data() + count * sizeof element + i * total * sizeof(Real),
                  total * sizeof(Real));
      if (element < 0 || element >= world.elements()) damaged(file, "there is no such element");
      if (seen[std::size_t(element)]) damaged(file, "an element is there twice");
      seen[std::size_t(element)] = true;
      if (!world.owns(element, row.data())) continue;
      elements.push_back(element);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    found += Index(count);
  }
  if (found != world.elements())
    damaged(path,
            "the files have " + std::to_string(found) + " elements of " + std::to_string(world.elements()));
  snapshot.x = world.piece(std::move(elements), rows);
  return snapshot;
}

template void write_snapshot(const std::string&, const SplitSystem<float>&, const Piece<float>&,
                             std::int64_t);
template void write_snapshot(const std::string&, const SplitSystem<double>&, const Piece<double>&,
                             std::int64_t);
template Snapshot<float> read_snapshot(const std::string&, const SplitSystem<float>&);
template Snapshot<double> read_snapshot(const std::string&, const SplitSystem<double>&);

}  // namespace costate::cluster
