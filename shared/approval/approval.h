#pragma once
// What a person is asked, and what counts as the answer. Decide is the one function that every way in uses (CLI, API, link, resume): the
// engine calls it with the decision as it came, whatever the channel, and nothing else says who may decide. Pure: no clock, no I/O.
// How a run asks and goes on: shared/workflow/decide_approval.cc, docs/guides/workflows.md ("Approvals").

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl::approval {

// Document 002's states of an approval, and one more for a request that its run outlived no longer needs.
inline constexpr std::string_view kPending = "PENDING", kApproved = "APPROVED", kRejected = "REJECTED", kTimeout = "TIMEOUT",
                                  kCancelled = "CANCELLED";

inline constexpr std::size_t kMostArgumentBytes = 256u << 10;  // of a request, as stored
inline constexpr std::size_t kLongestComment = 4096;           // bytes
inline constexpr std::size_t kLongestName = 300;               // of a person
inline constexpr int kMostApprovers = 100;

// One person's word that counts, of several that are needed.
struct Vote {
  std::string by;
  WallTime at;
  std::string assurance, channel, comment;
};

struct Request {
  // -- what is asked
  std::string approval_id;  // "<run id>:<step id>": an instance of a step asks once
  std::string run_id, step_id, step_name, workflow;
  std::string message, description;
  std::string risk = "MEDIUM";
  Json arguments = Json::object();  // of the step, every template resolved
  std::string workspace_root;       // of the run's files; empty: it has none, or other steps may write some meanwhile
  int version = 1;                  // one more each time that it is asked anew, because what is asked had changed
  // -- who may decide
  std::string role;                          // who has it; empty: no role is needed
  std::vector<std::string> approvers;        // names, or "role:NAME"; empty: anybody
  std::vector<std::string> requesters;       // submitter, owner, the agent's name
  std::string escalate_to;                   // the role that may decide too when a time has passed; empty: none
  std::vector<std::string> escalated_roles;  // who has one may decide too, since a time has passed
  int needed = 1;                            // distinct persons who must approve; one that rejects ends it
  bool allow_requester = true;
  // -- when
  WallTime requested_at;
  std::optional<WallTime> expires_at;
  // -- what became of it
  std::string state{kPending};
  std::vector<Vote> votes;
  std::string decided_by, comment;
  std::optional<WallTime> decided_at;

  std::string digest;  // DigestOf (digest.h) when it was asked

  bool pending() const { return state == kPending; }
};

// The form in which a run's state, the rows of approvals and the API have it. Absent: empty.
Json ToJson(const Request& request);
Result<Request> RequestFrom(const Json& json);

// What a person said, with how it is known who it was.
struct Decision {
  std::string decision;            // "approve", "reject"
  std::string by;                  // the principal; where nobody is asked for a key, the name that the caller gave
  std::vector<std::string> roles;  // of the principal
  std::string assurance;           // "key", "link", "none" (nobody is asked for a key)
  std::string channel;             // "api", "cli", "page" ...
  std::string comment;
  std::string digest;        // of what it was said about
  std::string shown_digest;  // of what was shown; may be empty
};

struct Verdict {
  enum class Kind {
    kRefused,   // changes nothing
    kVote,      // counts, and more are needed
    kApproves,  // the last that was needed
    kRejects,
  } kind = Kind::kRefused;
  std::string code;  // of a refusal: "not-pending", "expired", "digest-mismatch", "not-allowed", "already-voted", "invalid-decision"
  std::string why;   // for people, with the way out
};

Verdict Decide(const Request& request, const std::vector<Vote>& votes, const Decision& decision, WallTime now);

// How it ended and by whom, for who comes late: "APPROVED by alice at 2027-01-01T08:00:00Z".
std::string OutcomeText(const Request& request);

}  // namespace acl::approval
