// Random steps that run at the same time, merged one after another, beside a real file system on which the same is done in the order in
// which they complete: the manifest is what lies there, or the merge was refused and says why.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "shared/capability/merge.h"
#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

namespace fs = std::filesystem;

struct Op {
  enum Kind { kWrite, kWriteNew, kMakeDir, kDelete, kCopy, kMove, kZip, kProgram } kind = kWrite;
  std::string path, source, content;
  bool flag = false;  // create_dirs, parents, recursive or overwrite
};

std::ostream& operator<<(std::ostream& out, const Op& op) {
  const char* names[] = {"write", "write new", "make_dir", "delete", "copy", "move", "zip", "program"};
  return out << names[op.kind] << " " << op.path << (op.source.empty() ? "" : " from " + op.source) << (op.flag ? " (flag)" : "");
}

rc::Gen<std::string> Paths() {
  return rc::gen::map(rc::gen::container<std::vector<char>>(3, rc::gen::element('a', 'b')), [](const std::vector<char>& names) {
    std::string path(1, names[0]);
    for (std::size_t i = 1; i < names.size(); ++i) path += std::string("/") + names[i];
    return path;
  });
}
rc::Gen<std::string> AnyPath() {  // one to three names
  return rc::gen::map(rc::gen::pair(Paths(), rc::gen::inRange<std::size_t>(1, 4)),
                      [](const auto& drawn) { return drawn.first.substr(0, 2 * drawn.second - 1); });
}
rc::Gen<Op> AnyOp() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, 8), AnyPath(), AnyPath(), rc::gen::element<std::string>("one", "two"), rc::gen::arbitrary<bool>()),
      [](const auto& drawn) {
        Op op{Op::Kind(std::get<0>(drawn)), std::get<1>(drawn), "", std::get<3>(drawn), std::get<4>(drawn)};
        if (op.kind == Op::kCopy || op.kind == Op::kMove || op.kind == Op::kZip) op.source = std::get<2>(drawn);
        return op;
      });
}

std::string Slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

using Tree = std::map<std::string, std::string>;  // path -> content, "/" for a directory
Tree TreeOf(const fs::path& root) {
  Tree tree;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    tree[entry.path().lexically_relative(root).string()] = entry.is_directory() ? "/" : Slurp(entry.path());
  return tree;
}

// The file operations as a person would do them by hand. What fails there fails whole.
class RealFiles {
 public:
  explicit RealFiles(fs::path root) : root_(std::move(root)) {}
  const fs::path& root() const { return root_; }

  // `seen`: the tree as it was when the step began: it is what a copy reads.
  void Do(const Op& op, const fs::path& seen, const std::string& packed) {
    std::error_code error;
    const fs::path at = root_ / op.path;
    switch (op.kind) {
      case Op::kWrite:
      case Op::kProgram: Put(at, op.content, op.flag); break;
      case Op::kWriteNew:
        if (!fs::exists(at, error)) Put(at, op.content, op.flag);
        break;
      case Op::kZip: Put(at, packed, true); break;
      case Op::kMakeDir: op.flag ? fs::create_directories(at, error) : fs::create_directory(at, error); break;
      case Op::kDelete: op.flag ? void(fs::remove_all(at, error)) : void(fs::remove(at, error)); break;
      case Op::kCopy:
      case Op::kMove:
        if (fs::exists(at, error) && !op.flag) return;
        if (!fs::is_directory(at.parent_path(), error)) return;
        fs::remove_all(at, error);
        if (op.kind == Op::kMove) return fs::rename(root_ / op.source, at, error);
        fs::copy(seen / op.source, at, fs::copy_options::recursive, error);
        break;
    }
  }

 private:
  static void Put(const fs::path& at, const std::string& content, bool folders) {
    std::error_code error;
    if (folders) fs::create_directories(at.parent_path(), error);
    std::ofstream(at, std::ios::binary | std::ios::trunc) << content;
  }
  fs::path root_;
};

class MergeProperty : public CapabilityTest {
 protected:
  void SetUp() override {
    CapabilityConfig config;
    config.exec.allowed_programs = {"sh"};
    Start(config);
  }

  StepResult CallOf(const Op& op) {
    switch (op.kind) {
      case Op::kWrite: return Call("io.fs.write_file", {{"path", op.path}, {"content", op.content}, {"create_dirs", op.flag}});
      case Op::kWriteNew:
        return Call("io.fs.write_bytes",
                    {{"path", op.path}, {"content_base64", op.content == "one" ? "b25l" : "dHdv"}, {"create_dirs", op.flag}});
      case Op::kMakeDir: return Call("io.fs.make_dir", {{"path", op.path}, {"parents", op.flag}});
      case Op::kDelete: return Call("io.fs.delete", {{"path", op.path}, {"recursive", op.flag}});
      case Op::kCopy: return Call("io.fs.copy", {{"source", op.source}, {"destination", op.path}, {"overwrite", op.flag}});
      case Op::kMove: return Call("io.fs.move", {{"source", op.source}, {"destination", op.path}, {"overwrite", op.flag}});
      case Op::kZip: return Call("sys.archive.zip", {{"source_paths", {op.source}}, {"output_path", op.path}});
      case Op::kProgram: {
        const std::string folders = op.flag ? "mkdir -p \"$(dirname \"$1\")\" && " : "";
        return Call(
            "sys.exec.run",
            {{"command", "sh"}, {"args", {"-c", folders + "printf %s \"$2\" >\"$1\"", "sh", op.path, op.content}}, {"check", true}});
      }
    }
    return {};
  }

  Tree Merged() {
    Tree tree;
    const auto manifest = ReadManifest(state_);
    RC_ASSERT(manifest.ok());
    RC_ASSERT(!ImpossibleIn(*manifest).has_value());
    for (const auto& [path, entry] : *manifest) tree[path] = entry.is_dir ? "/" : *contents_.Get(entry.hash);
    return tree;
  }

  // One after another, none beside another.
  void Prepare(const std::vector<Op>& before, RealFiles& real) {
    for (const Op& op : before) {
      const StepResult result = CallOf(op);
      if (result.outcome != Outcome::kSucceeded) continue;
      RC_ASSERT(!FindConflict(state_, result.files).has_value());
      Commit(op, result, real, real.root());
    }
  }

  void Commit(const Op& op, const StepResult& result, RealFiles& real, const fs::path& seen) {
    std::string packed;
    for (const FileChange& change : result.files) {
      if (op.kind == Op::kZip && change.path == op.path && change.hash) packed = *contents_.Get(*change.hash);
    }
    RC_ASSERT(bool(state_.Apply(PatchFiles(state_, RealChanges(state_, result.files)))));
    real.Do(op, seen, packed);
    RC_ASSERT(Merged() == TreeOf(real.root()));
  }

  static bool Related(const std::string& a, const std::string& b) { return !a.empty() && (a == b || IsUnder(a, b) || IsUnder(b, a)); }
  static bool Related(const Op& one, const Op& other) {
    return Related(one.path, other.path) || Related(one.source, other.path) || Related(one.path, other.source) ||
           // a folder that both make on the way
           one.path[0] == other.path[0];
  }
};

RC_GTEST_FIXTURE_PROP(MergeProperty, IsWhatAFileSystemHoldsOrIsRefused, ()) {
  TemporaryFolder folder;
  RealFiles real(fs::path(folder.path) / "live");
  fs::create_directory(real.root());
  const auto before = *rc::gen::resize(12, rc::gen::container<std::vector<Op>>(AnyOp()));
  Prepare(before, real);
  const fs::path seen = fs::path(folder.path) / "seen";
  fs::copy(real.root(), seen, fs::copy_options::recursive);
  const auto beside = *rc::gen::container<std::vector<Op>>(3, AnyOp());
  std::vector<StepResult> results;
  for (const Op& op : beside) results.push_back(CallOf(op));
  std::vector<Op> merged;
  for (std::size_t i = 0; i < beside.size(); ++i) {
    if (results[i].outcome != Outcome::kSucceeded) continue;
    if (const auto conflict = FindConflict(state_, results[i].files)) {
      RC_TAG("refused");
      RC_ASSERT(std::any_of(merged.begin(), merged.end(), [&](const Op& other) { return Related(beside[i], other); }));
      continue;
    }
    RC_TAG("merged");
    Commit(beside[i], results[i], real, seen);
    merged.push_back(beside[i]);
  }
}

}  // namespace
}  // namespace acl
