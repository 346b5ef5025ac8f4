#include "shared/kinds/project/memory_operations.h"

#include "shared/kinds/project/parameters.h"

namespace acl::project {

namespace {

Parameter KindOfKnowledge(bool required) {
  Parameter one = OneOf(TextParameter("kind", "--kind", "preference, decision or fact", 20), {"preference", "decision", "fact"});
  return required ? Needed(std::move(one)) : one;
}

Operation OfMemory(std::string name, std::string words, std::string summary, std::vector<Parameter> parameters) {
  Operation made;
  made.name = std::move(name);
  made.words = std::move(words);
  made.summary = std::move(summary);
  made.parameters = std::move(parameters);
  made.right = Right::kRead;  // of the project
  made.path = "/" + made.name;
  return made;
}

// The gate's limits are memory's (shared/memory/learning.h); these only keep what is far beyond them from being read.
constexpr std::size_t kMostKnowledgeBytes = 4'000;
constexpr std::int64_t kMostSeq = std::int64_t(1) << 53, kMostSeconds = std::int64_t(100) * 366 * 24 * 3600;

}  // namespace

const std::vector<Operation>& MemoryOperations() {
  static const std::vector<Operation> all = {
      OfMemory("learn", "memory learn", "tell the external memory something that stays true",
               {Needed(TextParameter("text", "TEXT", "what was learned, in one paragraph that can be read alone", kMostKnowledgeBytes)),
                KindOfKnowledge(true),
                NumberParameter("event_seq", "--event", "the event of the project that it comes from; the last one if it is not said", 1,
                                kMostSeq),
                NumberParameter("valid_for_s", "--valid-for-s",
                                "seconds that it holds, a day at least; until it is revoked if it is not said", 1, kMostSeconds)}),
      OfMemory("search_memory", "memory search", "ask the external memory for what is known",
               {Needed(TextParameter("text", "TEXT", "what is asked", kMostKnowledgeBytes)), KindOfKnowledge(false),
                NumberParameter("limit", "--limit", "results at most; 10 if it is not said", 1, 50)}),
      OfMemory("revoke_learning", "memory revoke", "take back something that the external memory was told",
               {Needed(TextParameter("id", "ID", "the id that `memory learn` gave", 64))}),
  };
  return all;
}

}  // namespace acl::project
