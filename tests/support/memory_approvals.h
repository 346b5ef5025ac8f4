#pragma once
// ApprovalStore over what the commits of a MemoryStore said, for unit tests. What PostgreSQL's does is tested in
// tests/e2e/approvals_test.cc.

#include <algorithm>
#include <map>

#include "shared/approval/store.h"
#include "shared/kernel/memory_store.h"

namespace acl::test {

class MemoryApprovals final : public approval::ApprovalStore {
 public:
  explicit MemoryApprovals(const MemoryStore& store) : store_(store) {}

  Result<std::vector<approval::ShownApproval>> List(const ProjectId&, const std::optional<std::string>& state, std::int64_t before,
                                                    int limit) override {
    std::vector<approval::ShownApproval> found;
    auto all = All();
    for (auto one = all.rbegin(); one != all.rend() && int(found.size()) < limit; ++one)
      if ((!state || one->request.state == *state) && (before == 0 || one->position < before)) found.push_back(*one);
    return found;
  }
  Result<std::vector<approval::ShownApproval>> PendingOf(const SubjectId& run) override {
    auto all = All();
    std::erase_if(all, [&](const approval::ShownApproval& one) { return one.run != run || !one.request.pending(); });
    return all;
  }
  Result<approval::ShownApproval> Get(const ProjectId&, const std::string& approval_id) override {
    for (const approval::ShownApproval& one : All())
      if (one.request.approval_id == approval_id) return one;
    return Error{Code::kNotFound, "there is no approval '" + approval_id + "'"};
  }

 private:
  // Oldest first; the last that was said of each.
  std::vector<approval::ShownApproval> All() const {
    std::vector<approval::ShownApproval> all;
    std::map<std::string, std::size_t> at;
    for (const OutboxRow& row : store_.Outbox()) {
      if (row.topic != "approval/shown") continue;
      auto request = approval::RequestFrom(Json::parse(row.payload));
      if (!request) continue;
      const auto [place, fresh] = at.emplace(row.key, all.size());
      if (fresh) all.emplace_back();
      approval::ShownApproval& one = all[place->second];
      one.position = std::int64_t(place->second) + 1;
      one.run = *SubjectId::Parse(request->run_id);
      one.request = std::move(*request);
    }
    return all;
  }

  const MemoryStore& store_;
};

}  // namespace acl::test
