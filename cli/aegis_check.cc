#include "cli/aegis_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/format.h"
#include "shared/base/clock.h"
#include "shared/base/sha256.h"

namespace acl::cli {

namespace {

std::string ShaOf(const std::string& text) { return "sha256:" + ToHex(Sha256(text)); }

std::optional<WallTime> TimeOf(const Json& object, const char* key) { return ParseWallTime(TextOf(object, key)); }

class Checker {
 public:
  explicit Checker(const CheckedExchange& checked) : checked_(checked), exchange_(checked.exchange) {
    if (auto parsed = ParseJson(TextOf(exchange_, "context_bundle")); parsed && parsed->is_object()) bundle_ = std::move(*parsed);
  }

  std::vector<CheckLine> Run() {
    Bundle();
    Hash("11.1", "bundle_hash", "context_bundle_hash", "context_bundle");
    Order();
    if (checked_.rebuilt)
      Line("11.1", "rebuilt", checked_.rebuilt->value("same", false), "bundle and prompt do not come out the same from the record");
    if (checked_.session) Session();
    Turns();
    Binding();
    Refs();
    Sight();
    Secrets();
    Hash("11.5", "prompt_hash", "prompt_hash", "prompt");
    Hash("11.5", "response_hash", "response_hash", "response");
    return std::move(lines_);
  }

 private:
  void Line(const char* section, const char* name, bool ok, std::string why) {
    lines_.push_back({section, name, ok, ok ? std::string() : std::move(why)});
  }

  void Hash(const char* section, const char* name, const char* hash, const char* text) {
    const std::string wanted = ShaOf(TextOf(exchange_, text)), given = TextOf(exchange_, hash);
    const bool there = exchange_.contains(text) && exchange_[text].is_string();
    Line(section, name, there && wanted == given, fmt::format("{} is {}, and {} has {}", hash, given, text, there ? wanted : "nothing"));
  }

  void Bundle() {
    const bool bound = bundle_.is_object() && TextOf(bundle_, "session_id") == TextOf(exchange_, "session_id") &&
                       !TextOf(bundle_, "kernel_hash").empty() && bundle_.contains("constraints") && bundle_.contains("sight");
    Line("11.1", "bundle", bound, "there is no bundle of this session on record: the model was asked without one");
  }

  // Compiled (whole seconds, by the coordinator's clock), then on record, then answered and on record.
  void Order() {
    const auto compiled = TimeOf(bundle_.is_object() ? bundle_ : Json::object(), "compiled_at"),
               prepared = TimeOf(exchange_, "prepared_at"), ended = TimeOf(exchange_, "ended_at");
    const bool ok = compiled && prepared && ended && *compiled <= *prepared + kClocksDiffer && *prepared <= *ended;
    Line("11.1", "compiled_before_call", ok,
         fmt::format("compiled {}, promised {}, answered {}: they are not in this order",
                     bundle_.is_object() ? TextOf(bundle_, "compiled_at") : "never", TextOf(exchange_, "prepared_at"),
                     TextOf(exchange_, "ended_at")));
  }

  void Session() {
    const Json& session = *checked_.session;
    std::string differs = session.is_object() && TextOf(session, "session_id") == TextOf(exchange_, "session_id") ? "" : "session_id";
    for (const char* key : {"phase", "kernel_hash", "host_role", "model_id"})
      if (differs.empty() && (!bundle_.is_object() || TextOf(session, key) != TextOf(bundle_, key))) differs = key;
    Line("11.2", "session", differs.empty(), "the session is not there, or bound to something else than the bundle: " + differs);
  }

  const Json* TurnOf(const char* speaker) const {
    const auto turns = exchange_.find("turns");
    if (turns == exchange_.end() || !turns->is_array()) return nullptr;
    for (const Json& turn : *turns)
      if (TextOf(turn, "speaker") == speaker) return &turn;
    return nullptr;
  }

  void Turns() {
    const auto turns = exchange_.find("turns");
    const std::size_t count = turns == exchange_.end() || !turns->is_array() ? 0 : turns->size();
    const Json *user = TurnOf("user"), *aurora = TurnOf("aurora");
    Line("11.2", "two_turns", count == 2 && user != nullptr && aurora != nullptr,
         fmt::format("there are {} turns; there must be one of 'user' and one of 'aurora'", count));
    bool linked = user != nullptr && aurora != nullptr;
    for (const Json* turn : {user, aurora}) linked = linked && TextOf(*turn, "content_hash") == ShaOf(TextOf(*turn, "content"));
    Line("11.4", "hash_linkage", linked, "a turn's content_hash is not that of its content");
  }

  void Binding() {
    const Json* aurora = TurnOf("aurora");
    const bool recorded = TextOf(exchange_, "status") == "RECORDED" && aurora != nullptr && exchange_.contains("validator_summary") &&
                          exchange_["validator_summary"].is_object() && TextOf(*aurora, "content") == TextOf(exchange_, "response");
    Line("11.2", "exchange", recorded, "prompt and response are not bound by a recorded exchange with its validation");
    if (!checked_.shown) return;
    Line("10.3", "shown_is_recorded", *checked_.shown == TextOf(exchange_, "response"), "what was shown is not what is on record");
  }

  // Each entry of the bundle has a row that says why it went in, and the other way round.
  void Refs() {
    std::set<std::string> wanted, given;
    bool reasons = true;
    if (bundle_.is_object()) {
      for (const char* list : {"facts", "open_items", "turns", "work", "intent"})
        for (const Json& entry : bundle_.value(list, Json::array()))
          if (entry.contains("id")) wanted.insert(TextOf(entry, "id"));
      const Json sight = bundle_.value("sight", Json::object());
      for (const auto& [tool, entry] : sight.items())
        if (entry.contains("values")) wanted.insert("tool " + tool);
    }
    for (const Json& ref : exchange_.value("refs", Json::array())) {
      const std::string id = TextOf(ref, "artifact_id");
      given.insert(id.starts_with("tool:") ? "tool " + TextOf(ref, "artifact_type") : id);
      reasons = reasons && !TextOf(ref, "included_reason").empty();
    }
    Line("11.2", "refs", wanted == given && reasons,
         fmt::format("{} artifacts are in the bundle and {} are named with their reason", wanted.size(), given.size()));
  }

  void Sight() {
    static const std::set<std::string> kReasons{"not_installed", "blocked_by_tier", "tool_error"};
    std::string wrong;
    const Json sight = bundle_.is_object() ? bundle_.value("sight", Json::object()) : Json::object();
    for (const auto& [tool, entry] : sight.items()) {
      const bool available = entry.value("available", false);
      const bool values = entry.contains("values") && entry["values"].is_object() && !entry["values"].empty() &&
                          entry.contains("observed_at") && entry.contains("freshness_s");
      if (available ? !values : !kReasons.contains(TextOf(entry, "reason"))) wrong = tool;
    }
    const bool unseen = bundle_.is_object() && !bundle_.value("sight_without_values", Json::array()).empty();
    if (unseen) wrong = bundle_["sight_without_values"].dump();
    Line("11.3", "sight", wrong.empty(), "sight without values: " + wrong);
  }

  void Secrets() {
    if (!checked_.planted) return;
    Line("11.4", "no_secret", exchange_.dump().find(*checked_.planted) == std::string::npos, "a secret of the question stands on record");
  }

  static constexpr std::chrono::seconds kClocksDiffer{5};

  const CheckedExchange& checked_;
  const Json& exchange_;
  Json bundle_;
  std::vector<CheckLine> lines_;
};

}  // namespace

std::vector<CheckLine> CheckExchange(const CheckedExchange& checked) { return Checker(checked).Run(); }

}  // namespace acl::cli
