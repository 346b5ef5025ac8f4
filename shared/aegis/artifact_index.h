#pragma once
// All artifacts that are known, kept so that those for a question are found without looking at all of them: postings by word, by subject
// and by session, changed with each artifact. What Gather finds depends on the set of artifacts alone, not on the order in which they
// came; the definition is a scan, which stands in the tests and is held against this.
//
// Holds copies. Not thread-safe: one strand owns an index. Refused artifacts lose their text here (Screen); of their words only the
// postings stay, in memory, so that a refusal can be named in the bundle of a question that touches it.

#include <array>
#include <deque>
#include <set>
#include <unordered_map>

#include "shared/aegis/compile.h"

namespace acl::aegis {

struct GatherAsked {
  std::string session_id;
  std::string user_input;
  bool deep_history = false;  // by a flag; the question may ask for it too
  WallTime now{};
};

// The most of each that Gather hands on: some times what the caps of a kernel hold, for all of it goes on record with the exchange. More
// eligible ones are counted in `left_out`.
struct GatherBounds {
  std::size_t ring1 = 128;
  std::size_t ring2_asked = 64, ring2_unasked = 16;
  std::size_t refused = 32;
  // Whatever the question: intents of the session, intents of no session, and each type of what ACL knows of the work.
  std::size_t newest_of_type = 8;
  // With one candidate: other claims about its subject, those with the newest artifact first, the newest artifact of each; and as many
  // that name it, and that it names.
  std::size_t conflicting = 8;
};

class ArtifactIndex {
 public:
  explicit ArtifactIndex(FindsSecret finds_secret) : finds_secret_(std::move(finds_secret)) {}

  // Replaces one with the same id.
  void Put(Artifact artifact);
  // False: there is none.
  bool Remove(const std::string& id);
  std::size_t size() const { return slot_by_id_.size(); }

  CandidateSet Gather(const GatherAsked& asked, const Kernel& kernel, const GatherBounds& bounds = {}) const;

 private:
  using Slot = std::uint32_t;
  struct Entry {
    ScreenedArtifact candidate;
    std::string id;                    // as it was given
    std::vector<std::uint32_t> words;  // numbers in words_, with the postings they stand in
    Hash256 claim{};                   // of ClaimOf, if it claims its subject
  };
  // What a question asks of each artifact that shares a word with it; apart from the entries, for there may be very many.
  struct Brief {
    WallTime observed_at{};
    std::int32_t tier = 0;
    ArtifactType type = ArtifactType::kNote;
    bool refused = false;
  };
  struct Newest {
    std::int64_t micros = 0;
    std::string_view id;  // of the entry
    Slot slot = 0;
    friend bool operator<(const Newest& a, const Newest& b) { return std::tuple(b.micros, a.id) < std::tuple(a.micros, b.id); }
  };
  using NewestFirst = std::set<Newest>;
  // What is claimed about one subject.
  struct Subject {
    std::map<Hash256, NewestFirst> claims;
    std::map<Newest, Hash256> heads;  // the newest of each claim
  };
  class Gathering;

  Newest KeyOf(Slot slot) const;
  void AddPostings(Slot slot, const ArtifactWords& words);
  void RemovePostings(Slot slot);
  void Link(Slot slot);
  void Unlink(Slot slot);
  // The lists of newest ones that it stands in.
  std::vector<NewestFirst*> ListsOf(const Artifact& artifact);

  FindsSecret finds_secret_;
  std::deque<Entry> entries_;  // by slot; free ones are used again
  std::vector<Brief> briefs_;  // by slot
  std::vector<Slot> free_;
  std::unordered_map<std::string, Slot> slot_by_id_;
  std::unordered_map<std::string, std::uint32_t> words_;
  // By word: slot x 4 + 1 (in the text) + 2 (in the topics), ascending.
  std::vector<std::vector<std::uint32_t>> postings_;
  // Of eligible ones:
  std::unordered_map<std::string, Subject> by_subject_;
  std::unordered_map<std::string, NewestFirst> turns_, intents_;  // by session
  std::array<NewestFirst, kArtifactTypes> work_;                  // by type: next steps, tasks, checkpoints, runs
  std::unordered_map<std::string, NewestFirst> contradicted_by_;  // by the id that they name
  std::map<std::pair<int, int>, std::int64_t> eligible_;          // how many, by type and tier
  std::map<std::string, std::int64_t> refused_;                   // how many, by reason
};

}  // namespace acl::aegis
