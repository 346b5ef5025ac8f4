// An object store that is busy, slow, gone, that did it and does not say so, or breaks off in the middle of an answer.
#include "chaos/faults/kinds.h"
#include "chaos/process/patience.h"

namespace acl::chaos {
namespace {

class ObjectFault : public Fault {
 public:
  explicit ObjectFault(TestBed& test_bed) : test_bed_(test_bed), before_(proxy().counters()) {}
  Status Heal() override {
    proxy().Disarm();
    if (Toxiproxy* toxic = test_bed_.fleet->toxiproxy()) return toxic->RemoveToxics("objects");
    return {};
  }
  // Somebody asks it again and hears all of the answer.
  Status AssertHealed() override {
    const auto healed = proxy().counters().answered;
    if (!Await([&] { return proxy().counters().answered > healed; }, kHealedWithin)) return NotSeen("an answer of the object store");
    return test_bed_.fleet->AwaitReady(kHealedWithin) ? Status() : Status(NotSeen("every process is ready"));
  }

 protected:
  Proxy& proxy() const { return *test_bed_.fleet->objects_proxy(); }
  TestBed& test_bed_;
  const Proxy::Counters before_;
};

class AnswersCut final : public ObjectFault {
 public:
  AnswersCut(TestBed& test_bed, Proxy::Cut cut, int times) : ObjectFault(test_bed), cut_(cut), times_(times) {}
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
    return test_bed_.fleet->toxiproxy()->AddToxic("objects",
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

Made ObjectsBusy(TestBed& test_bed, std::uint64_t draw) {
  return std::make_unique<AnswersCut>(test_bed, Proxy::Cut::kBusy, 5 + int(draw % 10));
}
Made ObjectsUnheard(TestBed& test_bed, std::uint64_t draw) {
  return std::make_unique<AnswersCut>(test_bed, Proxy::Cut::kWhenAnswered, 3 + int(draw % 5));
}
Made ObjectsHalf(TestBed& test_bed, std::uint64_t draw) {
  return std::make_unique<AnswersCut>(test_bed, Proxy::Cut::kHalfAnswer, 3 + int(draw % 5));
}
Made ObjectsSlow(TestBed& test_bed, std::uint64_t) { return std::make_unique<StoreSlow>(test_bed); }
Made ObjectsGone(TestBed& test_bed, std::uint64_t) { return std::make_unique<StoreGone>(test_bed); }
Made ObjectsToxic(TestBed& test_bed, std::uint64_t) { return std::make_unique<StoreSilent>(test_bed); }

std::optional<std::string> NoObjects(const TestBed& test_bed) {
  if (test_bed.fleet->objects_proxy() == nullptr) return "needs a fleet with an object store (profile objects)";
  return std::nullopt;
}
std::optional<std::string> NoToxicObjects(const TestBed& test_bed) {
  const auto why = NoObjects(test_bed);
  return why ? why : NoToxiproxy(test_bed);
}

}  // namespace acl::chaos
