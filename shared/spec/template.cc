#include "shared/spec/template.h"

#include "shared/spec/template_scan.h"

namespace acl {

namespace {

// The value at a dotted path; nullopt if it is missing or null.
std::optional<Json> Look(std::string_view path, const TemplateScope& scope) {
  std::string_view first = FirstToken(path);
  const Json* at = first.empty() ? nullptr : scope(first);
  std::string_view rest = path.substr(first.size());
  while (at && !rest.empty()) {
    rest.remove_prefix(1);
    std::string_view key = FirstToken(rest);
    rest.remove_prefix(key.size());
    if (!at->is_object()) return std::nullopt;
    auto it = at->find(std::string(key));
    at = it == at->end() ? nullptr : &*it;
  }
  return at && !at->is_null() ? std::optional<Json>(*at) : std::nullopt;
}

std::size_t SizeOf(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size() + 2;
  std::size_t size = 8;
  if (value.is_array())
    for (const Json& item : value) size += SizeOf(item);
  if (value.is_object())
    for (const auto& [key, item] : value.items()) size += key.size() + SizeOf(item);
  return size;
}

class Expander {
 public:
  Expander(const TemplateScope& scope, const TemplateLimits& limits) : scope_(scope), limits_(limits) {}

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
        out[it.key()] = std::move(*item);
    }
    return out;
  }

  std::vector<std::string> missing;

 private:
  Status Spend(std::size_t bytes) {
    spent_ += bytes;
    if (spent_ <= limits_.max_output_bytes) return {};
    return Error{Code::kInvalid,
                 "templates expand to more than " + std::to_string(limits_.max_output_bytes) + " bytes; pass large data by file"};
  }

  Result<Json> Text(const Json& value) {
    const auto& text = value.get_ref<const std::string&>();
    auto pieces = ScanTemplate(text);
    if (pieces.size() == 1 && pieces[0].is_reference) {
      auto found = Reference(pieces[0]);
      if (!found) return found.error();
      Json out = *found ? **found : value;
      if (Status spent = Spend(SizeOf(out)); !spent) return spent.error();
      return out;
    }
    std::string out;
    for (const TemplatePiece& piece : pieces) {
      std::string spliced(piece.text);
      if (piece.is_reference) {
        auto found = Reference(piece);
        if (!found) return found.error();
        if (*found) spliced = SpliceText(**found);
      }
      if (Status spent = Spend(spliced.size()); !spent) return spent.error();
      out += spliced;
    }
    return Json(std::move(out));
  }

  Result<std::optional<Json>> Reference(const TemplatePiece& piece) {
    auto value = ApplyFilters(piece.filters, Look(piece.path, scope_));
    if (!value) return Error{value.code(), value.message() + " in " + std::string(piece.text)};
    if (!*value && std::find(missing.begin(), missing.end(), piece.path) == missing.end()) missing.push_back(piece.path);
    return value;
  }

  const TemplateScope& scope_;
  const TemplateLimits& limits_;
  std::size_t spent_ = 0;
};

void Collect(const Json& value, std::vector<TemplateReference>* out) {
  if (value.is_string()) {
    for (TemplatePiece& piece : ScanTemplate(value.get_ref<const std::string&>())) {
      if (!piece.is_reference) continue;
      const bool has_default =
          std::any_of(piece.filters.begin(), piece.filters.end(), [](auto& filter) { return filter.name == "default"; });
      auto known = std::find_if(out->begin(), out->end(), [&](const TemplateReference& one) { return one.path == piece.path; });
      if (known == out->end())
        out->push_back({std::move(piece.path), has_default});
      else
        known->has_default &= has_default;
    }
  } else if (value.is_structured()) {
    for (const Json& item : value) Collect(item, out);
  }
}

}  // namespace

Result<Expanded> ExpandTemplates(const Json& value, const TemplateScope& scope, const TemplateLimits& limits) {
  Expander expander(scope, limits);
  auto expanded = expander.Expand(value);
  if (!expanded) return expanded.error();
  return Expanded{std::move(*expanded), std::move(expander.missing)};
}

std::vector<TemplateReference> References(const Json& value) {
  std::vector<TemplateReference> out;
  Collect(value, &out);
  return out;
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
