#pragma once
// What ask sessions show of themselves (migrations/0012_ask.sql), read back for people and for the next bundle. Nothing is decided by it
// but which session an ask goes on in, and that is decided again by the session itself.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/ids.h"
#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl {

class AskRows {
 public:
  virtual ~AskRows() = default;

  // An open session of the owner that is bound like this, the newest; nullopt: none. `binding`: columns of chat_session by name.
  virtual Result<std::optional<SubjectId>> OpenSession(const ProjectId& project, const std::string& owner, const Json& binding) = 0;
  // Rows of chat_session with their owner and number of exchanges, newest first.
  virtual Result<std::vector<Json>> Sessions(const ProjectId& project, const std::string& before, int limit) = 0;
  // Exchanges with their outcome, if they have one, newest first: of one session, or (nil) of all.
  virtual Result<std::vector<Json>> Exchanges(const ProjectId& project, const SubjectId& session, const std::string& before, int limit) = 0;
  // One whole: what was promised, what became of it, both turns, refs, drift. kNotFound.
  virtual Result<Json> Exchange(const ProjectId& project, const std::string& exchange_id) = 0;
  // The exchange that was asked for under this key, the last if there are several; nullopt: none.
  virtual Result<std::optional<std::string>> ExchangeOfKey(const ProjectId& project, const std::string& by, const std::string& key) = 0;
  // DriftWatch events, newest first, each with the turn that it was found in; `status` empty: all.
  virtual Result<std::vector<Json>> Drift(const ProjectId& project, const std::string& status, int limit) = 0;
  // One of them, open or closed; nullopt: there is none.
  virtual Result<std::optional<Json>> OneDrift(const ProjectId& project, const std::string& id) = 0;
  // Sessions in whose exchanges something was proposed that people were asked about, newest first.
  virtual Result<std::vector<SubjectId>> SessionsWithIntents(const ProjectId& project, int limit) = 0;
  // The last turns of the project, newest first; of a long one its beginning.
  virtual Result<std::vector<Json>> Turns(const ProjectId& project, int limit) = 0;
  // The same of one session.
  virtual Result<std::vector<Json>> TurnsOf(const SubjectId& session, int limit) = 0;
};

}  // namespace acl
