#pragma once
// Items that give a grant back at once, with a word for the next holder. Pure.

#include "shared/kernel/types.h"

namespace acl {

// What a run waits before it is claimed again when its contents cannot be read: each claim writes, and an outage may be long.
inline constexpr milliseconds kContentsAwayPause{3'000};
// The same when there is not enough memory to decide on it.
inline constexpr milliseconds kOutOfMemoryPause{3'000};

// Appends nothing: the next holder decides.
inline CommitItem ReleaseOf(const Claimed& claimed, const SessionId& session) {
  CommitItem item;
  item.subject = claimed.subject;
  item.session = session;
  item.token = claimed.token;
  item.base_seq = claimed.head.seq;
  item.chain = claimed.head.chain;
  item.state_root = claimed.head.state_root;
  item.last_timestamp = claimed.head.last_timestamp;
  item.disposition = Disposition::kRelease;
  item.expected_wake = claimed.wake;
  item.requeue = true;
  return item;
}

// The next holder must know `version`.
inline CommitItem ReleaseFor(const Claimed& claimed, const SessionId& session, int version) {
  CommitItem item = ReleaseOf(claimed, session);
  item.required_version = version;
  return item;
}

inline CommitItem ReleaseUntilLater(const Claimed& claimed, const SessionId& session) {
  CommitItem item = ReleaseOf(claimed, session);
  item.not_before = claimed.db_now + kContentsAwayPause;
  return item;
}

}  // namespace acl
