#include "shared/definition/template.h"

#include <unordered_map>
#include <unordered_set>

#include "shared/base/json_object.h"
#include "shared/definition/template_scan.h"

namespace acl {

namespace {

class Expander {
 public:
  Expander(const TemplateScope& scope, const TemplateLimits& limits)
      : scope_(scope), budget_(limits.max_output_bytes, limits.max_work_bytes) {}

  Result<Json> Expand(const Json& value) {
    if (value.is_string()) return Text(value);
    if (!value.is_structured()) return value;
    Json out = value.is_array() ? Json(Json::array()) : Json(Json::object());
    for (auto it = value.begin(); it != value.end(); ++it) {
      auto item = Expand(*it);
      if (!item) return item;
      if (value.is_array())
        out.push_back(std::move(*item));
      else
        AddMember(out, it.key(), std::move(*item));
    }
    return out;
  }

  std::vector<std::string> missing;

 private:
  Result<Json> Text(const Json& value) {
    const auto& text = value.get_ref<const std::string&>();
    auto pieces = ScanTemplate(text);
    if (pieces.size() == 1 && pieces[0].is_reference) {
      auto found = Reference(pieces[0]);
      if (!found) return found.error();
      const Json* at = found->get();
      if (Status spent = budget_.SpendOutput(SizeOf(at ? *at : value, budget_.output_left())); !spent) return spent.error();
      if (found->is_made) return std::move(found->made);
      return at ? *at : value;
    }
    std::string out;
    for (const TemplatePiece& piece : pieces) {
      const std::size_t before = out.size(), most = before + budget_.output_left();
      const Json* at = nullptr;
      Referred referred;
      if (piece.is_reference) {
        auto found = Reference(piece);
        if (!found) return found.error();
        referred = std::move(*found);
        at = referred.get();
      }
      const bool fits = at ? AppendSpliced(*at, most, &out) : piece.text.size() <= budget_.output_left();
      if (!fits) return budget_.SpendOutput(budget_.output_left() + 1).error();
      if (!at) out += piece.text;
      if (Status spent = budget_.SpendOutput(out.size() - before); !spent) return spent.error();
    }
    return Json(std::move(out));
  }

  Result<Referred> Reference(const TemplatePiece& piece) {
    auto looked = Look(piece.path);
    auto value = looked ? ApplyFilters(piece.filters, *looked, budget_) : looked.error();
    if (!value) return Error{value.code(), value.message() + " in " + std::string(piece.text.substr(0, kShownBytes))};
    if (!value->get() && missing.size() < kMissingNames && missing_.insert(piece.path).second) missing.push_back(piece.path);
    return value;
  }

  // nullptr also for null.
  Result<const Json*> Look(std::string_view path) {
    auto looked = LookUp(scope_, path, budget_);
    return looked && *looked && (*looked)->is_null() ? Result<const Json*>(nullptr) : looked;
  }

  static constexpr std::size_t kShownBytes = 200;

  const TemplateScope& scope_;
  TemplateBudget budget_;
  std::unordered_set<std::string> missing_;
};

class Collector {
 public:
  void Collect(const Json& value) {
    if (value.is_structured()) {
      for (const Json& item : value) Collect(item);
    }
    if (!value.is_string()) return;
    for (TemplatePiece& piece : ScanTemplate(value.get_ref<const std::string&>())) {
      if (!piece.is_reference) continue;
      const bool has_default =
          std::any_of(piece.filters.begin(), piece.filters.end(), [](auto& filter) { return filter.name == "default"; });
      const auto [known, fresh] = index_.emplace(piece.path, out.size());
      if (fresh)
        out.push_back({std::move(piece.path), has_default});
      else
        out[known->second].has_default &= has_default;
    }
  }

  std::vector<TemplateReference> out;

 private:
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace

Result<const Json*> LookUp(const TemplateScope& scope, std::string_view path, TemplateBudget& budget) {
  std::string_view first = FirstToken(path);
  const Json* at = first.empty() ? nullptr : scope(first);
  std::string_view rest = path.substr(first.size());
  while (at && !rest.empty()) {
    rest.remove_prefix(1);
    std::string_view key = FirstToken(rest);
    rest.remove_prefix(key.size());
    if (!at->is_object()) return nullptr;
    if (Status spent = budget.SpendWork(at->size()); !spent) return spent.error();
    auto it = at->find(std::string(key));
    at = it == at->end() ? nullptr : &*it;
  }
  return at;
}

Result<Expanded> ExpandTemplates(const Json& value, const TemplateScope& scope, const TemplateLimits& limits) {
  Expander expander(scope, limits);
  auto expanded = expander.Expand(value);
  if (!expanded) return expanded.error();
  return Expanded{std::move(*expanded), std::move(expander.missing)};
}

std::vector<TemplateReference> References(const Json& value) {
  Collector collector;
  collector.Collect(value);
  return std::move(collector.out);
}

bool HasTemplate(const Json& value) {
  if (value.is_string()) {
    auto pieces = ScanTemplate(value.get_ref<const std::string&>());
    return std::any_of(pieces.begin(), pieces.end(), [](const TemplatePiece& piece) { return piece.is_reference; });
  }
  if (!value.is_structured()) return false;
  return std::any_of(value.begin(), value.end(), [](const Json& item) { return HasTemplate(item); });
}

}  // namespace acl
