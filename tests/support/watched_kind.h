#pragma once
// A kind whose fast paths are counted, and perhaps spoilt.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/kernel/fast_path.h"

namespace acl::test {

class WatchedKind final : public SubjectKind {
 public:
  explicit WatchedKind(std::shared_ptr<const SubjectKind> kind) : kind_(std::move(kind)) {}

  std::string_view Name() const override { return kind_->Name(); }
  Decision Decide(const Document& state, const Input& input, WallTime now) const override { return kind_->Decide(state, input, now); }
  Delta Evolve(const Document& state, const EventDraft& draft) const override { return kind_->Evolve(state, draft); }
  bool Joins(std::string_view event, std::string_view next) const override { return kind_->Joins(event, next); }
  Next WhatNext(const Document& state, const NextContext& context) const override { return kind_->WhatNext(state, context); }
  bool TryFastPath(const Document& state, Input& input, WallTime at, bool goes_on, std::shared_ptr<FastPathCursor>& cursor,
                   FastPathResult& fast_path) const override {
    if (!kind_->TryFastPath(state, input, at, goes_on, cursor, fast_path)) return false;
    const auto* finished = std::get_if<StepFinishedInput>(&input);
    fast_paths.push_back(finished ? finished->step_id : fast_path.listing ? "(begins)" : "(goes on)");
    if (spoil) spoil(fast_path);
    return true;
  }
  SubjectTrace Trace(const Document& state) const override { return kind_->Trace(state); }
  StepTrace TraceOf(const Document& state, const std::string& step_id) const override { return kind_->TraceOf(state, step_id); }

  // The steps that completed so; or that a run began, or went on after a claim.
  mutable std::vector<std::string> fast_paths;
  std::function<void(FastPathResult&)> spoil;

 private:
  const std::shared_ptr<const SubjectKind> kind_;
};

}  // namespace acl::test
