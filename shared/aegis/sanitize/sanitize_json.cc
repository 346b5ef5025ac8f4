// Values of JSON: strings are sanitised as they decode and written anew, so that what comes out is JSON.
#include <fmt/format.h>

#include "shared/aegis/sanitize/sanitizer.h"
#include "shared/aegis/sanitize/value_checks.h"
#include "shared/base/redact.h"

namespace acl::aegis {
namespace {

constexpr int kDeepest = 64;
constexpr const char* kNamedKind = "named";

bool IsText(const Json& value, std::string_view member) {
  const auto found = value.find(std::string(member));
  return found != value.end() && found->is_string();
}

// "--password", "-api-key": the next argument is its value.
bool IsSecretFlag(const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.starts_with('-') && text.size() <= 64 && text.find_first_of(" =") == std::string::npos &&
         (IsSecretName(text) || text == "--token" || text == "--auth-token");
}

}  // namespace

class JsonSanitizer {
 public:
  explicit JsonSanitizer(const Sanitizer& sanitizer) : sanitizer_(sanitizer) {}

  Status Clean(Json& value, bool secret, int depth) {
    if (depth > kDeepest)
      return Error{Code::kInvalid, fmt::format("a JSON value nested deeper than {} is not sanitised; make it flatter", kDeepest)};
    if (value.is_object()) return CleanObject(value, secret, depth);
    if (value.is_array()) return CleanArray(value, secret, depth);
    if (value.is_string()) return CleanText(value.get_ref<std::string&>(), secret);
    if (value.is_binary()) return Error{Code::kInvalid, "a JSON value of bytes is not sanitised; give it as base64 text"};
    if (secret && value.is_number()) value = Replaced(value.dump());
    return {};
  }

  std::vector<Cut> cut;

 private:
  std::string Replaced(std::string_view value) {
    AddCut(cut, kNamedKind);
    return sanitizer_.key_.Placeholder(kNamedKind, value);
  }

  Status CleanText(std::string& text, bool secret) {
    bytes_ += text.size();
    if (bytes_ > kLongestText) {
      return Error{Code::kInvalid,
                   fmt::format("JSON with more than {} bytes of text is not sanitised; store it as content of its own", kLongestText)};
    }
    if (secret && !IsStandIn(text) && text != kRedacted) {
      text = Replaced(text);
      return {};
    }
    const auto scan = sanitizer_.ScanText(text);
    if (!scan.spans.empty()) text = sanitizer_.Render(text, scan, 0, text.size(), cut);
    return {};
  }

  Status CleanArray(Json& value, bool secret, int depth) {
    bool flagged = false;
    for (auto& item : value) {
      const bool flag = IsSecretFlag(item);
      if (auto status = Clean(item, secret || (flagged && item.is_string() && !flag), depth + 1); !status) return status;
      flagged = flag;
    }
    return {};
  }

  Status CleanObject(Json& value, bool secret, int depth) {
    bool names_secret = false;
    for (const auto* member : {"name", "key", "header"}) {
      if (IsText(value, member)) names_secret |= IsSecretName(value[member].get_ref<const std::string&>());
    }
    Json out = Json::object();
    for (auto& [name, member] : value.items()) {
      const bool is_secret = secret || IsSecretName(name) || (names_secret && name == "value");
      if (auto status = Clean(member, is_secret, depth + 1); !status) return status;
      std::string called = name;
      if (auto status = CleanText(called, false); !status) return status;
      while (out.contains(called)) called += "'";  // two names that were cut and look alike
      out[called] = std::move(member);
    }
    value = std::move(out);
    return {};
  }

  const Sanitizer& sanitizer_;
  std::size_t bytes_ = 0;
};

Result<SanitizedJson> Sanitizer::SanitizeJson(const Json& value) const {
  JsonSanitizer cleaner(*this);
  SanitizedJson done{value, {}};
  if (auto status = cleaner.Clean(done.value, false, 0); !status) return status.error();
  done.cut = std::move(cleaner.cut);
  return done;
}

}  // namespace acl::aegis
