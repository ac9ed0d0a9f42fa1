#include "costate/io/text/gmsh_file.h"

#include <array>
#include <map>
#include <span>

#include "costate/io/text/mesh_lines.h"

namespace costate::io {
namespace {

using Words = std::vector<std::string_view>;

// A kind of element that is kept: its number in the file, and the file's place of each of our vertices.
struct Kind {
  int number;
  std::vector<int> CellMesh::*cells;
  std::array<int, 10> place;
  int nodes;
};
const Kind kKinds[] = {{2, &CellMesh::triangles, {0, 1, 2}, 3},
                       {4, &CellMesh::tetrahedra, {0, 1, 2, 3}, 4},
                       {5, &CellMesh::hexahedra, {0, 1, 3, 2, 4, 5, 7, 6}, 8},
                       {11, &CellMesh::quadratic_tetrahedra, {0, 1, 2, 3, 4, 5, 6, 7, 9, 8}, 10}};

class Gmsh {
 public:
  Gmsh(const std::string& content, const std::string& path) : size_(content.size()), lines_(content, path) {}

  CellMesh read() {
    Words words;
    double version = 0;
    while (lines_.next(words)) {
      if (words[0] == "$MeshFormat") {
        words = line("the version");
        version = lines_.number(words[0]);
        if (words.size() < 2 || lines_.number(words[1]) != 0)
          lines_.fail("this Gmsh file is not text: save it with Mesh.Binary = 0");
        if (version != 2.2 && version != 4.1)
          lines_.fail("version " + std::string(words[0].substr(0, 10)) +
                      " of a Gmsh file: save it as version 2.2 or 4.1");
      } else if (words[0] == "$Nodes") {
        version < 4 ? nodes_2() : nodes_4();
      } else if (words[0] == "$Elements") {
        version < 4 ? elements_2() : elements_4();
      } else if (words[0].starts_with("$") && !words[0].starts_with("$End")) {
        skip(std::string(words[0].substr(1)));
      }
    }
    return std::move(mesh_);
  }

 private:
  Words line(const char* what) {
    Words words;
    if (!lines_.next(words)) lines_.fail(std::string("the file ends before ") + what);
    return words;
  }
  std::int64_t count(std::string_view word) { return lines_.count(word, size_); }
  void need(const Words& words, std::size_t count) {
    if (words.size() < count) lines_.fail("this line needs " + std::to_string(count) + " numbers");
  }
  void skip(const std::string& section) {
    Words words;
    while (lines_.next(words))
      if (words[0] == "$End" + section) return;
    lines_.fail("the section $" + section.substr(0, 40) + " has no end");
  }
  void vertex(std::string_view tag, const Vec3<double>& p) {
    if (!number_.try_emplace(lines_.index(tag, std::int64_t(1) << 40, "node"), int(mesh_.vertices.size()))
             .second)
      lines_.fail("node " + std::string(tag.substr(0, 20)) + " is there twice");
    mesh_.vertices.push_back(p);
  }
  void element(std::int64_t kind, std::span<const std::string_view> nodes) {
    for (const Kind& k : kKinds) {
      if (k.number != kind) continue;
      if (nodes.size() < std::size_t(k.nodes)) lines_.fail("this element has too few nodes");
      for (int a = 0; a < k.nodes; ++a) {
        const std::string_view tag = nodes[std::size_t(k.place[std::size_t(a)])];
        const auto found = number_.find(lines_.index(tag, std::int64_t(1) << 40, "node"));
        if (found == number_.end()) lines_.fail("there is no node " + std::string(tag.substr(0, 20)));
        (mesh_.*k.cells).push_back(found->second);
      }
    }
  }

  void nodes_2() {
    const std::int64_t n = count(line("the nodes")[0]);
    for (std::int64_t i = 0; i < n; ++i) {
      const Words words = line("its last node");
      vertex(words[0], lines_.point(words, 1));
    }
  }
  void elements_2() {
    const std::int64_t n = count(line("the elements")[0]);
    for (std::int64_t i = 0; i < n; ++i) {
      const Words words = line("its last element");
      need(words, 3);
      const auto tags = std::size_t(lines_.index(words[2], 100, "the number of tags"));
      need(words, 3 + tags);
      element(lines_.index(words[1], 1000, "kind"), std::span(words).subspan(3 + tags));
    }
  }
  // Blocks: dimension, entity, parametric, count; the tags; the places.
  void nodes_4() {
    const std::int64_t blocks = count(line("the nodes")[0]);
    for (std::int64_t b = 0; b < blocks; ++b) {
      const Words words = line("its last node");
      need(words, 4);
      const std::int64_t n = count(words[3]);
      std::vector<std::string_view> tags;
      for (std::int64_t i = 0; i < n; ++i) tags.push_back(line("its last node")[0]);
      for (std::int64_t i = 0; i < n; ++i)
        vertex(tags[std::size_t(i)], lines_.point(line("its last node"), 0));
    }
  }
  void elements_4() {
    const std::int64_t blocks = count(line("the elements")[0]);
    for (std::int64_t b = 0; b < blocks; ++b) {
      const Words head = line("its last element");
      need(head, 4);
      const std::int64_t kind = lines_.index(head[2], 1000, "kind"), n = count(head[3]);
      for (std::int64_t i = 0; i < n; ++i) {
        const Words words = line("its last element");
        element(kind, std::span(words).subspan(1));
      }
    }
  }

  std::size_t size_;
  MeshLines lines_;
  CellMesh mesh_;
  std::map<std::int64_t, int> number_;  // of the file's nodes among ours
};

}  // namespace

bool is_gmsh(const std::string& content) { return content.starts_with("$MeshFormat"); }

CellMesh parse_gmsh(const std::string& content, const std::string& path) {
  return Gmsh(content, path).read();
}

std::string format_gmsh(const CellMesh& mesh) {
  std::string out =
      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n" + std::to_string(mesh.vertices.size()) + "\n";
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    const Vec3<double>& p = mesh.vertices[i];
    out += std::to_string(i + 1) + ' ' + shortest(p.x) + ' ' + shortest(p.y) + ' ' + shortest(p.z) + '\n';
  }
  std::size_t count = 0;
  std::string elements;
  for (const Kind& kind : kKinds) {
    const std::vector<int>& cells = mesh.*kind.cells;
    for (std::size_t e = 0; e < cells.size(); e += std::size_t(kind.nodes)) {
      int nodes[10];
      for (int a = 0; a < kind.nodes; ++a) nodes[kind.place[std::size_t(a)]] = cells[e + std::size_t(a)] + 1;
      elements += std::to_string(++count) + ' ' + std::to_string(kind.number) + " 2 0 1";
      for (int a = 0; a < kind.nodes; ++a) elements += ' ' + std::to_string(nodes[a]);
      elements += '\n';
    }
  }
  return out + "$EndNodes\n$Elements\n" + std::to_string(count) + '\n' + elements + "$EndElements\n";
}

}  // namespace costate::io
