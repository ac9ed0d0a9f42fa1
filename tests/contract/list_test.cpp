// Reads the headers: whatever makes a System, and every kind that one can be made of, is in the list.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/contract/list.h"

namespace costate::test {
namespace {

const std::filesystem::path kRoot = COSTATE_SOURCE;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  // Comments may name anything.
  return std::regex_replace(text.str(), std::regex("//[^\n]*"), "");
}

std::vector<std::smatch> matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

// "rigid::" for what stands in namespace costate::rigid: the last one that begins before `at`.
std::string scope_of(const std::string& text, std::ptrdiff_t at) {
  static const std::regex begins(R"(namespace costate(?:::([\w:]+))? \{)");
  std::string scope;
  for (std::sregex_iterator it(text.begin(), text.begin() + at, begins), end; it != end; ++it)
    scope = (*it)[1].matched ? it->str(1) + "::" : "";
  return scope;
}

// Functions that return a pointer to a System, or to a mechanism or a carrier of one, and classes that are
// one, with their headers.
std::map<std::string, std::string> declared() {
  const std::regex function(
      R"((extern template )?std::(?:shared|unique)_ptr<(?:const )?(?:costate::)?(?:System<\w+>|mpm::Mechanism|soft::Carrier)>\s+(\w+)(?:<\w+>)?\()");
  // LaneForward and StepProgramSystem are the parts that their two heirs share.
  const std::regex type(
      R"(class (?!(?:LaneForward|StepProgramSystem)\b)(\w+)(?: final)? : public (?:costate::)?(?:System|LaneForward|StepProgramSystem)<)");
  std::map<std::string, std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "costate")) {
    if (entry.path().extension() != ".h") continue;
    const std::string text = text_of(entry.path());
    for (const auto& match : matches(text, function)) {
      const std::string scope = scope_of(text, match.position());
      // study/ makes nothing of its own: it holds the factories of others until a precision is chosen.
      if (scope != "study::" && !match[1].matched) found[scope + match.str(2)] = entry.path().string();
    }
    for (const auto& match : matches(text, type))
      found[scope_of(text, match.position()) + match.str(1)] = entry.path().string();
  }
  return found;
}

// The enumerators of a kind, qualified.
std::set<std::string> kinds(const std::string& header, const std::string& name) {
  const std::string text = text_of(kRoot / header);
  std::smatch found;
  EXPECT_TRUE(std::regex_search(text, found, std::regex("enum class " + name + R"( \{([^}]*)\})")))
      << header << " no longer has an enum " << name
      << ": tell tests/contract/list_test.cpp where its kinds are";
  std::set<std::string> result;
  const std::string body = found.str(1);
  for (const auto& match : matches(body, std::regex(R"(\w+)")))
    result.insert(scope_of(text, found.position()) + name + "::" + match.str(0));
  return result;
}

std::set<std::string> listed() {
  std::set<std::string> all;
  for (const Listed& one : every_physics()) all.insert(one.covers.begin(), one.covers.end());
  return all;
}

TEST(TheList, HasEveryFactoryAndEverySystem) {
  const auto all = listed();
  const auto found = declared();
  EXPECT_GE(found.size(), 12u) << "the pattern no longer finds what it should";
  for (const auto& [name, header] : found)
    EXPECT_TRUE(all.contains(name)) << name << " (" << header << ") has no case in tests/contract/list.cpp";
}

// Materials are listed by the macro that defines them.
TEST(TheList, HasEveryKind) {
  const auto all = listed();
  const std::set<std::string> refused = {"rigid::Integrator::implicit"};  // make_system says so
  for (const auto& [header, name] : {std::pair{"costate/rigid/contact_model.h", "ContactModel"},
                                     {"costate/rigid/model.h", "Integrator"},
                                     {"costate/rigid/rigid_system.h", "Onset"},
                                     {"costate/mpm/model.h", "Kernel"},
                                     {"costate/soft/mass_spring.h", "Contact"},
                                     {"costate/soft/soft_model.h", "Integrator"},
                                     {"costate/fluid/flow.h", "Scheme"},
                                     {"costate/fluid/flow.h", "Shape"},
                                     {"costate/fluid/flow.h", "Carried"},
                                     {"costate/ode/lanes/fixed_step_systems.h", "Integrator"}}) {
    for (const std::string& kind : kinds(header, name)) {
      EXPECT_NE(all.contains(kind), refused.contains(kind))
          << kind << " (" << header << ") has no case in tests/contract/list.cpp";
    }
  }
}

// Nothing is listed that is not there any more.
TEST(TheList, NamesOnlyWhatExists) {
  const auto found = declared();
  for (const std::string& name : listed()) {
    const auto last = name.rfind("::"),
               before = last == std::string::npos ? last : name.rfind("::", last - 1);
    if (before != std::string::npos) continue;  // an enumerator: the compiler knows
    EXPECT_TRUE(found.contains(name)) << name << " is listed, but no header declares it";
  }
}

}  // namespace
}  // namespace costate::test
