#pragma once
// New subjects' events are sealed here, before they are sent, under the token the database would mint and its time. Both are cached:
// the token is proved inside the create statement and corrected if the epoch moved; the time is the database's of the last answer plus
// the own steady clock since, and never goes back.

#include <algorithm>
#include <mutex>
#include <optional>

#include "shared/base/clock.h"
#include "shared/postgres/pg_store.h"

namespace acl {

struct PgStore::SealCache {
  struct Stamp {
    Token token;
    WallTime now;
  };

  Stamp Learn(Token token, WallTime db_now) {
    std::lock_guard lock(mutex);
    first_token = token;
    learnt_now = db_now;
    learnt_at = clock.Steady();
    last_given = std::max(last_given, db_now);
    return {token, last_given};
  }

  // The epoch moved.
  void Forget() {
    std::lock_guard lock(mutex);
    first_token.reset();
  }

  // nullopt: nothing is known yet.
  std::optional<Stamp> Now() {
    std::lock_guard lock(mutex);
    if (!first_token) return std::nullopt;
    auto since = std::chrono::duration_cast<std::chrono::microseconds>(clock.Steady() - learnt_at);
    last_given = std::max(last_given, learnt_now + since);
    return Stamp{*first_token, last_given};
  }

  SystemClock clock;
  std::mutex mutex;
  std::optional<Token> first_token;
  WallTime learnt_now{}, last_given{};
  SteadyTime learnt_at{};
};

}  // namespace acl
