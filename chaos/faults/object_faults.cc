// An object store that is busy, slow, gone, that did it and does not say so, or breaks off in the middle of an answer.
#include "chaos/faults/kinds.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

class ObjectFault : public Fault {
 public:
  explicit ObjectFault(World& world) : world_(world), before_(proxy().counters()) {}
  Status Heal() override {
    proxy().Disarm();
    if (Toxiproxy* toxic = world_.fleet->toxiproxy()) return toxic->RemoveToxics("objects");
    return {};
  }
  // Somebody asks it again and hears all of the answer.
  Status AssertHealed() override {
    const auto healed = proxy().counters().answered;
    if (!Await([&] { return proxy().counters().answered > healed; }, kHealedWithin)) return NotSeen("an answer of the object store");
    return world_.fleet->AwaitReady(kHealedWithin) ? Status() : Status(NotSeen("every process is ready"));
  }

 protected:
  Proxy& proxy() const { return *world_.fleet->objects_proxy(); }
  World& world_;
  const Proxy::Counters before_;
};

class AnswersCut final : public ObjectFault {
 public:
  AnswersCut(World& world, Proxy::Cut cut, int times) : ObjectFault(world), cut_(cut), times_(times) {}
  Status Inject() override {
    proxy().ArmCuts(cut_, times_);
    return {};
  }
  Status AssertInjected() override {
    const bool seen = Await([&] { return proxy().counters().cuts >= before_.cuts + times_; }, kSeenWithin);
    facts["requests"] = proxy().counters().cuts - before_.cuts;
    return seen ? Status() : Status(NotSeen("as many requests to the object store"));
  }

 private:
  const Proxy::Cut cut_;
  const int times_;
};

class StoreSlow final : public ObjectFault {
 public:
  using ObjectFault::ObjectFault;
  Status Inject() override {
    proxy().SetDelay(milliseconds(300), 1'000);
    return {};
  }
  Status AssertInjected() override {
    return Await([&] { return proxy().counters().delayed_bytes > before_.delayed_bytes; }, kSeenWithin)
               ? Status()
               : Status(NotSeen("bytes that came late"));
  }
};

class StoreGone final : public ObjectFault {
 public:
  using ObjectFault::ObjectFault;
  Status Inject() override {
    proxy().SetSilence(Proxy::Silence::kBoth);
    return {};
  }
  Status AssertInjected() override {
    return Await([&] { return proxy().counters().silenced > before_.silenced; }, kSeenWithin)
               ? Status()
               : Status(NotSeen("connections to the object store that fell silent"));
  }
};

// toxiproxy in the way to it: silence that nobody is told of.
class StoreSilent final : public ObjectFault {
 public:
  using ObjectFault::ObjectFault;
  Status Inject() override {
    return world_.fleet->toxiproxy()->AddToxic("objects",
                                               {{"type", "timeout"}, {"stream", "downstream"}, {"attributes", {{"timeout", 0}}}});
  }
  Status AssertInjected() override {
    const auto asked = [&] { return proxy().counters().commits; };  // of bytes: requests
    const auto from = proxy().counters();
    if (!Await([&] { return asked() > from.commits; }, kSeenWithin)) return NotSeen("somebody who asks the object store");
    const auto heard = proxy().counters().answered;
    Pause(milliseconds(500));
    facts["requests"] = asked() - from.commits;
    return proxy().counters().answered <= heard ? Status() : Status(NotSeen("no answer"));
  }
};

}  // namespace

Made ObjectsBusy(World& world, std::uint64_t draw) { return std::make_unique<AnswersCut>(world, Proxy::Cut::kBusy, 5 + int(draw % 10)); }
Made ObjectsUnheard(World& world, std::uint64_t draw) {
  return std::make_unique<AnswersCut>(world, Proxy::Cut::kWhenAnswered, 3 + int(draw % 5));
}
Made ObjectsHalf(World& world, std::uint64_t draw) {
  return std::make_unique<AnswersCut>(world, Proxy::Cut::kHalfAnswer, 3 + int(draw % 5));
}
Made ObjectsSlow(World& world, std::uint64_t) { return std::make_unique<StoreSlow>(world); }
Made ObjectsGone(World& world, std::uint64_t) { return std::make_unique<StoreGone>(world); }
Made ObjectsToxic(World& world, std::uint64_t) { return std::make_unique<StoreSilent>(world); }

std::optional<std::string> NoObjects(const World& world) {
  if (world.fleet->objects_proxy() == nullptr) return "needs a fleet with an object store (profile objects)";
  return std::nullopt;
}
std::optional<std::string> NoToxicObjects(const World& world) {
  const auto why = NoObjects(world);
  return why ? why : NoToxiproxy(world);
}

}  // namespace acl::chaos
