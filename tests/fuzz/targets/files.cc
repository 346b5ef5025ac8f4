// Workflow files and templates.
#include "shared/base/check.h"
#include "shared/definition/expression.h"
#include "shared/definition/loader.h"
#include "shared/definition/template.h"
#include "shared/definition/template_scan.h"
#include "tests/fuzz/targets/targets.h"
#include "tests/unit/definition/test_registry.h"

namespace acl::fuzz {

void FuzzWorkflow(std::string_view bytes) {
  static const CapabilityRegistry capabilities = test::SmallRegistry();
  for (const bool strict : {false, true}) {
    const auto loaded =
        LoadWorkflow(std::string(bytes), capabilities, {.strict = strict, .strict_templates = strict, .for_submit = strict});
    for (const auto& finding : loaded.findings) {
      ACL_CHECK(!finding.code.empty() && !finding.message.empty(), "a finding says what is wrong");
      ACL_CHECK(finding.mark.line >= 1 && finding.mark.column >= 1, "and where");
    }
    ACL_CHECK(loaded.ok() || !loaded.findings.empty(), "what is refused has a finding");
    if (!loaded.ok()) continue;
    const Json stored = DefinitionToJson(*loaded.definition);
    ACL_CHECK(CheckStorable(stored, {.max_depth = 96}).ok(), "what is loaded can be stored");
    const auto again = DefinitionFromJson(stored);
    ACL_CHECK(again.ok() && DumpJson(DefinitionToJson(*again)) == DumpJson(stored), "and comes back the same");
    const auto inputs = CheckInputs(*loaded.definition, Json::object());
    if (inputs) ACL_CHECK(CheckStorable(*inputs).ok(), "defaults can be stored");
  }
}

void FuzzTemplate(std::string_view bytes) {
  const auto text = ParseJson(DumpJson(Json(std::string(bytes))));  // bad UTF-8 replaced; NUL refused
  if (!text) return;
  const std::string& whole = text->get_ref<const std::string&>();
  std::string pieces;
  for (const auto& piece : ScanTemplate(whole)) pieces += piece.text;
  ACL_CHECK(pieces == whole, "the pieces make up the text");
  std::set<std::string> named;
  for (const auto& reference : References(*text)) named.insert(std::string(FirstToken(reference.path)));
  ACL_CHECK(named.empty() || HasTemplate(*text), "a text with references is a template");
  static const Json values = *ParseJson(R"({"a":{"b":[1,2.5,"x",null,true],"c":"{{ a.b }}"},"n":1e300,"t":" Text "})");
  const TemplateScope scope = [&](std::string_view name) -> const Json* {
    ACL_CHECK(named.contains(std::string(name)), "nothing is looked up that References does not name");
    const auto found = values.find(name);
    return found == values.end() ? nullptr : &*found;
  };
  const auto expanded = ExpandTemplates(*text, scope, {.max_output_bytes = 4096});
  if (!expanded) return;
  ACL_CHECK(CheckStorable(expanded->value).ok(), "what comes out can be stored");
  if (named.empty()) ACL_CHECK(expanded->value == *text, "a text without references is left alone");
}

void FuzzExpression(std::string_view bytes) {
  ExpressionMistake mistake;
  const auto parsed = ParseExpression(bytes, &mistake);
  if (!parsed) {
    ACL_CHECK(mistake.offset <= bytes.size() && !mistake.what.empty(), "a mistake says where and what");
    return;
  }
  const std::string one_form = parsed->Canonical();
  if (one_form.size() <= kMostExpressionBytes) {
    const auto again = ParseExpression(one_form, &mistake);
    ACL_CHECK(again && again->Canonical() == one_form, "the one form is the same expression");
  }
  std::set<std::string> named;
  for (const auto& reference : parsed->References()) named.insert(std::string(FirstToken(reference.path)));
  static const Json values = *ParseJson(R"({"a":{"b":[1,2.5,"x",null,true],"c":"{{ a.b }}"},"n":1e300,"t":" Text "})");
  const TemplateScope scope = [&](std::string_view name) -> const Json* {
    ACL_CHECK(named.contains(std::string(name)), "nothing is looked up that References does not name");
    const auto found = values.find(name);
    return found == values.end() ? nullptr : &*found;
  };
  const auto value = Evaluate(*parsed, scope, {.max_output_bytes = 4096, .max_work_bytes = 1 << 20});
  if (value) ACL_CHECK(DumpJson(*value).size() < 64 * 1024, "and what it comes to is bounded");
}

}  // namespace acl::fuzz
