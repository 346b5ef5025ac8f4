#include "shared/capability/merge.h"

#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two steps that begin at the same moment; the second completes behind the first.
class Merge : public CapabilityTest {
 protected:
  std::string ConflictOf(const StepResult& first, const StepResult& second) {
    EXPECT_EQ(first.outcome, Outcome::kSucceeded) << first.error;
    EXPECT_EQ(second.outcome, Outcome::kSucceeded) << second.error;
    Document merged = state_;
    EXPECT_FALSE(FindConflict(merged, first.files));
    EXPECT_TRUE(merged.Apply(PatchFiles(merged, first.files)));
    const auto conflict = FindConflict(merged, second.files);
    return conflict ? conflict->what : "";
  }
  StepResult Writes(const std::string& path) { return Call("io.fs.write_file", {{"path", path}, {"content", "new"}}); }
  StepResult Removes(const std::string& path) { return Call("io.fs.delete", {{"path", path}, {"recursive", true}}); }
  StepResult Copies(const std::string& from, const std::string& to) {
    return Call("io.fs.copy", {{"source", from}, {"destination", to}, {"overwrite", true}});
  }
  void SetUp() override {
    CapabilityTest::SetUp();
    Write("k", "a file");
    Write("d/x", "1");
    Write("e/x", "2");
  }
};

TEST_F(Merge, AFileInPlaceOfADirectoryIntoWhichAnotherStepWrites) {
  const StepResult copy = Copies("k", "d"), write = Writes("d/y");
  EXPECT_THAT(ConflictOf(copy, write), HasSubstr("it relied on /workspace/d, which another step changed"));
  EXPECT_THAT(ConflictOf(write, copy), HasSubstr("replaced /workspace/d, in which another step made /workspace/d/y"));
}

TEST_F(Merge, ADirectoryRemovedOrMovedAwayIntoWhichAnotherStepWrites) {
  const StepResult write = Writes("d/y"), made = Call("io.fs.make_dir", {{"path", "d/s/t"}, {"parents", true}});
  for (const StepResult& away : {Removes("d"), Call("io.fs.move", {{"source", "d"}, {"destination", "m"}})}) {
    EXPECT_THAT(ConflictOf(away, write), HasSubstr("it relied on /workspace/d, which another step removed"));
    EXPECT_THAT(ConflictOf(write, away), HasSubstr("made /workspace/d/y"));
    EXPECT_THAT(ConflictOf(away, made), HasSubstr("another step"));
    EXPECT_THAT(ConflictOf(made, away), HasSubstr("made /workspace/d/s"));
  }
}

TEST_F(Merge, WhatIsMovedMustStillBeThere) {
  const auto moves = [&](const std::string& from, const std::string& to) {
    return Call("io.fs.move", {{"source", from}, {"destination", to}});
  };
  const StepResult removed = Removes("k"), moved = moves("k", "m"), again = moves("k", "n");
  EXPECT_THAT(ConflictOf(removed, moved), HasSubstr("/workspace/k, which another step removed"));
  EXPECT_THAT(ConflictOf(moved, again), HasSubstr("/workspace/k, which another step removed")) << "nothing is in two places";
  EXPECT_EQ(ConflictOf(moved, removed), "") << "in this order it was gone already";
  const StepResult inside = Removes("d/x"), folder = moves("d", "f");
  EXPECT_THAT(ConflictOf(inside, folder), HasSubstr("/workspace/d/x, which another step removed"));
}

TEST_F(Merge, ATreeThatReplacedAnotherHoldsNothingElse) {
  const StepResult copy = Copies("d", "e"), write = Writes("e/y");
  EXPECT_THAT(ConflictOf(write, copy), HasSubstr("made /workspace/e/y"));
  EXPECT_EQ(ConflictOf(copy, write), "") << "in this order it goes into the new tree";
  const StepResult fresh = Copies("d", "n"), folder = Call("io.fs.make_dir", {{"path", "n"}});
  EXPECT_THAT(ConflictOf(folder, fresh), HasSubstr("it changed /workspace/n"));
}

TEST_F(Merge, WhatAStepFoundAsItWantedItIsReliedOn) {
  const StepResult there = Call("io.fs.make_dir", {{"path", "d"}}), same = Call("io.fs.write_file", {{"path", "k"}, {"content", "a file"}});
  EXPECT_THAT(ConflictOf(Removes("d"), there), HasSubstr("/workspace/d"));
  EXPECT_THAT(ConflictOf(Removes("k"), same), HasSubstr("it relied on /workspace/k, which another step removed"));
  EXPECT_TRUE(RealChanges(state_, there.files).empty());
  EXPECT_TRUE(RealChanges(state_, same.files).empty());
}

TEST_F(Merge, WhatHasNothingToDoWithEachOtherIsMerged) {
  EXPECT_EQ(ConflictOf(Writes("d/y"), Writes("d/z")), "");
  EXPECT_EQ(ConflictOf(Removes("d"), Writes("e/y")), "");
  EXPECT_EQ(ConflictOf(Copies("k", "d"), Writes("dd")), "");
  const StepResult made = Call("io.fs.make_dir", {{"path", "out"}});
  EXPECT_EQ(ConflictOf(made, Call("io.fs.write_file", {{"path", "out/a"}, {"content", ""}, {"create_dirs", true}})), "");
}

TEST_F(Merge, ChangesOfADispatchedStepAreMergedLikewise) {  // by way of the task's text, which an older worker writes without `whole`
  FileChange below{"d/y", Sha256("new"), 3, 0644, false, Hash256{}};
  Document merged;
  merged.Set(FileKey("d"), FileEntryToJson(FileEntry{Sha256("f"), 1, 0644, false}));
  EXPECT_TRUE(FindConflict(merged, {below}));
  below.found.reset();
  EXPECT_TRUE(FindConflict(merged, {below})) << "whoever looked, a file holds nothing";
}

Json Entry(std::uint8_t content) { return FileEntryToJson(FileEntry{Hash256{content}, 1, 0644, false}); }
Json Directory() { return FileEntryToJson(FileEntry{Hash256{}, 0, 0755, true}); }

TEST(Undo, BringsBackWhatAFileSystemCanHold) {
  Document state;
  state.Set(FileKey("made"), Directory());
  state.Set(FileKey("made/own"), Entry(1));
  state.Set(FileKey("made/other"), Entry(2));
  const auto kept = UndoFiles(state, {{"made", nullptr}, {"made/own", nullptr}});
  ASSERT_TRUE(kept);
  EXPECT_EQ(*kept, Json({{"made/own", nullptr}})) << "the folder stays: something that is not undone lies in it";
  const auto all = UndoFiles(state, {{"made", nullptr}, {"made/own", nullptr}, {"made/other", nullptr}});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 3u);

  const auto blocked = UndoFiles(state, {{"made", Entry(7)}, {"made/own", nullptr}});
  EXPECT_EQ(blocked.code(), Code::kConflict);
  EXPECT_THAT(blocked.message(), HasSubstr("/workspace/made was a file before the step, and /workspace/made/other"));

  const auto above = UndoFiles(state, {{"gone/x", Entry(3)}});
  ASSERT_TRUE(above);
  EXPECT_EQ(*above, Json({{"gone/x", Entry(3)}, {"gone", Directory()}})) << "the folder comes back with it";
  EXPECT_THAT(UndoFiles(state, {{"made/other/x", Entry(3)}}).message(), HasSubstr("/workspace/made/other has been made a file since"));
}

}  // namespace
}  // namespace acl
