#pragma once
// The external memory of a coordinator: what may go out goes through the gate, what comes back is shown and kept nowhere.
//
//   auto memory = memory::OpenMemory(settings, clock);          // an error: settings that cannot work; null: none is configured
//   auto told = (*memory)->Learn({"fact", text, {}, {project, event_seq}}, view->work());
//   auto found = (*memory)->Search({memory::Kind::kDecision, text, 5}, view->work());

#include <memory>
#include <optional>
#include <string>

#include "shared/config/settings.h"
#include "shared/memory/external_memory.h"

namespace acl::memory {

// From any thread; calls block until the memory has answered or its time is over.
class Memory {
 public:
  explicit Memory(std::unique_ptr<ExternalMemory> external) : external_(std::move(external)) {}

  struct Searched {
    Found found;
    std::optional<Refusal> refused;  // nothing was sent
  };
  // Errors as of ExternalMemory. A caller that can do without goes on without.
  Result<Searched> Search(Query query, const project::Work& work);

  struct Learned {
    std::string id;                  // by which it is revoked
    std::optional<Refusal> refused;  // nothing was sent
  };
  Result<Learned> Learn(Learning learning, const project::Work& work);

  // False: the memory does not have it (any more).
  Result<bool> Revoke(const std::string& id) { return external_->Revoke(id); }

 private:
  const std::unique_ptr<ExternalMemory> external_;
};

// The memory that the settings name; null if they name none. kInvalid, kDenied with the setting's name. `clock` must outlive it.
Result<std::unique_ptr<Memory>> OpenMemory(const Settings& settings, const Clock& clock);

}  // namespace acl::memory
