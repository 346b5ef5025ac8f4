#pragma once
// What the capability tests share: the standard registry, contents in memory, a run's files that successive calls work on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "shared/base/sha256.h"
#include "shared/capability/manifest.h"
#include "shared/capability/runner.h"
#include "shared/capability/standard.h"
#include "shared/kernel/call_format.h"

namespace acl {

class MemoryContents final : public ContentStore {
 public:
  Status Put(const Hash256& hash, const std::string& bytes) override {
    std::lock_guard lock(mutex_);
    if (fail_put) return Error{Code::kUnavailable, "the store is away"};
    contents_[hash] = bytes;
    return {};
  }
  Result<std::string> Get(const Hash256& hash) override {
    std::lock_guard lock(mutex_);
    ++gets;
    auto it = contents_.find(hash);
    if (it == contents_.end()) return Error{Code::kNotFound, "no such content"};
    return it->second;
  }
  bool Has(const Hash256& hash) {
    std::lock_guard lock(mutex_);
    return contents_.contains(hash);
  }
  bool fail_put = false;
  int gets = 0;

 private:
  std::mutex mutex_;
  std::map<Hash256, std::string> contents_;
};

struct TemporaryFolder {
  TemporaryFolder() {
    char pattern[] = "/tmp/acl-capability-XXXXXX";
    path = ::mkdtemp(pattern);
  }
  ~TemporaryFolder() { RemoveTree(path); }
  std::string path;
};

class CapabilityTest : public testing::Test {
 protected:
  using Outcome = StepResult::Outcome;

  void Start(const CapabilityConfig& config = {}, int threads = 2) {
    runner_.reset();
    registry_ = CapabilityRegistry();
    RegisterStandardCapabilities(registry_, config);
    auto made = CapabilityRunner::Make(registry_, contents_, config, {.work_folder = work_.path, .threads = threads});
    ASSERT_TRUE(made) << made.error();
    runner_ = std::move(*made);
  }
  void SetUp() override { Start(); }

  StepCall MakeCall(const std::string& capability, Json inputs) {
    StepCall call;
    call.subject = SubjectId{Uuid{{1, 2, 3}}};
    call.token = Token{77};
    call.attempt_id = 1;
    call.step.step_id = "step";
    call.step.idempotency_key = "key-1";
    call.step.call = CallToJson({capability, std::move(inputs), ""});
    call.state = state_;
    return call;
  }
  StepResult Call(const std::string& capability, Json inputs, StopToken stop = {}) {
    return runner_->Call(MakeCall(capability, std::move(inputs)), stop);
  }
  // As the engine does: a completed step's file changes become the state.
  StepResult Apply(const std::string& capability, Json inputs) {
    StepResult result = Call(capability, std::move(inputs));
    EXPECT_EQ(result.outcome, Outcome::kSucceeded) << capability << ": " << result.error;
    EXPECT_TRUE(state_.Apply(PatchFiles(state_, result.files)));
    return result;
  }
  std::string FailureOf(const std::string& capability, Json inputs) {
    StepResult result = Call(capability, std::move(inputs));
    EXPECT_EQ(result.outcome, Outcome::kFailed) << capability << " gave " << result.outputs;
    EXPECT_TRUE(result.files.empty());
    return result.error;
  }
  void Write(const std::string& path, const std::string& content) {
    Apply("io.fs.write_file", {{"path", path}, {"content", content}, {"create_dirs", true}});
  }
  std::string ContentOf(const std::string& path) {
    auto entry = FindFile(state_, path);
    if (!entry || !*entry) return "(no such file)";
    auto bytes = contents_.Get((*entry)->hash);
    return bytes ? *bytes : "(no such content)";
  }
  std::vector<std::string> Paths() {
    std::vector<std::string> paths;
    auto manifest = ReadManifest(state_);
    EXPECT_TRUE(manifest);
    for (const auto& [path, entry] : *manifest) paths.push_back(path + (entry.is_dir ? "/" : ""));
    return paths;
  }

  TemporaryFolder work_;
  MemoryContents contents_;
  CapabilityRegistry registry_;
  std::unique_ptr<CapabilityRunner> runner_;
  Document state_;
};

}  // namespace acl
