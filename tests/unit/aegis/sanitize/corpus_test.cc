// How well the sanitiser cuts, over planted secrets and over this project's own pages, sources and journals; docs/guides/aegis.md says the
// figures, and ACL_UPDATE_DOCS=1 writes them there.
#include "tests/unit/aegis/sanitize/corpus.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "tests/unit/aegis/generated_part.h"

namespace acl::aegis {
namespace {

namespace fs = std::filesystem;

struct Found {
  int planted = 0, cut = 0;
  double recall() const { return planted == 0 ? 1 : double(cut) / planted; }
};

Found CountPlanted(const std::vector<test::Planted>& all, const std::function<bool(const test::Planted&)>& counts, bool tell) {
  Found found;
  for (const auto& planted : all) {
    if (!counts(planted)) continue;
    const auto done = test::PlainSanitizer().Sanitize(planted.text);
    for (const auto& value : planted.values) {
      ++found.planted;
      const bool survives = test::Survives(planted.kind, value, done->text);
      found.cut += survives ? 0 : 1;
      if (survives && tell)
        std::printf("survives (%s, %s): %s\n  %s\n", planted.held ? "held" : "tuned", planted.kind.c_str(), planted.text.c_str(),
                    done->text.c_str());
    }
  }
  return found;
}

struct Clean {
  int lines = 0, hits = 0;
};

void LookAtText(const std::string& text, const std::string& where, Clean& clean) {
  clean.lines += int(std::count(text.begin(), text.end(), '\n'));
  const auto scan = test::PlainSanitizer().ScanText(text);
  for (const auto& span : scan.spans) {
    ++clean.hits;
    std::printf("false hit in %s: %s: %s\n", where.c_str(), span.kind,
                text.substr(span.begin, std::min<std::size_t>(span.end - span.begin, 80)).c_str());
  }
}

std::string TextOf(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Clean LookAtFiles(const std::string& folder, const std::vector<std::string>& extensions) {
  Clean clean;
  const fs::path root = ACL_SOURCE_DIR;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    const auto extension = entry.path().extension().string();
    if (!entry.is_regular_file() || std::find(extensions.begin(), extensions.end(), extension) == extensions.end()) continue;
    if (entry.path().filename() == "standard_rules.cc") continue;  // patterns of what is cut
    LookAtText(TextOf(entry.path()), fs::relative(entry.path(), root).generic_string(), clean);
  }
  return clean;
}

// Line by line: eight lines of a journal are an excerpt, and more of them are cut on purpose.
Clean LookAtLines(const std::string& path) {
  Clean clean;
  std::ifstream file(std::string(ACL_SOURCE_DIR "/") + path);
  for (std::string line; std::getline(file, line);) LookAtText(line + "\n", path, clean);
  return clean;
}

Clean Sum(const std::vector<Clean>& all) {
  Clean sum;
  for (const auto& one : all) sum = {sum.lines + one.lines, sum.hits + one.hits};
  return sum;
}

const std::vector<std::pair<std::string, Clean>>& CleanParts() {
  static const auto* parts = new std::vector<std::pair<std::string, Clean>>{
      {"pages (docs)", LookAtFiles("docs", {".md"})},
      {"sources of the product",
       Sum({LookAtFiles("shared", {".cc", ".h"}), LookAtFiles("coordinator", {".cc", ".h"}), LookAtFiles("worker", {".cc", ".h"}),
            LookAtFiles("cli", {".cc", ".h"}), LookAtFiles("chaos", {".cc", ".h"})})},
      {"journals", LookAtLines("tests/data/journals/2026-11-24.jsonl")},
      {"prose, digests, ids, images, styles and scripts", LookAtLines("tests/data/aegis/clean.txt")},
  };
  return *parts;
}

TEST(SanitizeCorpus, AlmostEveryPlantedSecretIsCut) {
  const auto all = test::ReadPlanted();
  ASSERT_GE(all.size(), 400u);
  const Found found = CountPlanted(
      all, [](const auto&) { return true; }, true);
  EXPECT_GE(found.recall(), 0.99);
}

TEST(SanitizeCorpus, CleanLinesStay) {
  Clean all;
  for (const auto& [name, clean] : CleanParts()) all = Sum({all, clean});
  ASSERT_GE(all.lines, 10000);
  EXPECT_LE(double(all.hits) * 10000 / all.lines, 1.0);
}

// Every rule that cuts has a planted secret of its kind.
TEST(SanitizeCorpus, EveryKindIsPlanted) {
  std::map<std::string, int> planted;
  for (const auto& one : test::ReadPlanted()) ++planted[one.kind];
  const RuleSet& rules = RuleSet::Standard();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules.rule(i).use == Use::kCut) {
      EXPECT_GT(planted[rules.rule(i).kind], 0) << rules.rule(i).kind << " has no line in tests/data/aegis/secrets.tsv";
    }
  }
  for (const char* kind : {"private-key", "certificate", "env-file", "log", "blob"}) EXPECT_GT(planted[kind], 0) << kind;
}

TEST(SanitizeCorpus, TheGuideSaysTheFigures) {
  const auto all = test::ReadPlanted();
  std::string rows = "| planted secrets | values | cut | recall |\n|---|---|---|---|\n";
  const auto row = [&](const char* name, const auto& counts) {
    const Found found = CountPlanted(all, counts, false);
    rows += fmt::format("| {} | {} | {} | {:.3f} |\n", name, found.planted, found.cut, found.recall());
  };
  row("lines that the rules were tuned on", [](const auto& p) { return !p.held; });
  row("lines held back", [](const auto& p) { return p.held; });
  row("all", [](const auto&) { return true; });
  rows += "\n| clean lines | false hits for each 10 000 |\n|---|---|\n";
  for (const auto& [name, clean] : CleanParts()) {
    // Rounded up to tenths: a page that grows by a line changes nothing here.
    rows += fmt::format("| {} | {:.1f} |\n", name, std::ceil(double(clean.hits) * 100000 / clean.lines) / 10);
  }
  test::CheckGeneratedPart("sanitiser figures", rows);
}

}  // namespace
}  // namespace acl::aegis
