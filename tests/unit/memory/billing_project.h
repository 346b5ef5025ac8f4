#pragma once
// A project in the middle of its work, for what must never leave it.

#include <string>
#include <vector>

#include "shared/kinds/project/model.h"
#include "tests/unit/kinds/project/project_driver.h"

namespace acl::memory::test {

inline const std::string kRun = "01935b2e-7c00-7d6e-9f00-1a2b3c4d5e6f";
inline const ProjectId kProject{*Uuid::Parse("01935b2e-7c00-7aaa-8f00-1a2b3c4d5e00")};

// g1: t1 done, t2 doing with a checkpoint, t3 blocked with one; g2: t4 todo.
inline project::Work BillingProject() {
  project::test::ProjectDriver project;
  project.Do("create_goal", {{"text", "Move billing to PostgreSQL 16"}});
  project.Do("create_goal", {{"text", "Write the operator's handbook"}});
  for (const auto& [goal, title] : {std::pair{"g1", "Dump the old billing database"},
                                    {"g1", "Convert the invoices"},
                                    {"g1", "Switch the payment gateway"},
                                    {"g2", "Proofread chapter 4"}}) {
    project.Do("add_task", {{"goal_id", goal}, {"title", title}});
  }
  project.Do("start_task", {{"task_id", "t1"}});
  project.Do("complete_task", {{"task_id", "t1"}});
  project.Do("start_task", {{"task_id", "t2"}});
  project.Do(
      "update_checkpoint",
      {{"task_id", "t2"},
       {"where_we_left_off", "The invoice tables are converted up to 2021. Rows with a null currency were set aside in table invoice_odd."},
       {"next_step", "Convert the invoice tables of 2022 with script convert.py"},
       {"needed_context_refs", {"run:" + kRun}},
       {"tried", {"COPY in one transaction: the server ran out of disk"}},
       {"pending", {"an answer from the tax office about rounding of half cents"}}});
  project.Do("start_task", {{"task_id", "t3"}}, "ben");
  project.Do("update_checkpoint",
             {{"task_id", "t3"},
              {"where_we_left_off", "The sandbox of the payment gateway rejects our certificate."},
              {"next_step", "Ask the vendor to renew the sandbox certificate"}},
             "ben");
  project.Do("block_task", {{"task_id", "t3"}, {"blocker", "the vendor has not renewed the certificate of the sandbox"}}, "ben");
  return project::ReadWork(project.state);
}

}  // namespace acl::memory::test
