#include "cli/exchange_page.h"

#include "cli/format.h"
#include "shared/base/html_text.h"
#include "shared/base/terminal_text.h"

namespace acl::cli {

namespace {

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1b1b1b; background: #fff }
h1 { font-size: 1.3rem } h2 { font-size: 1.05rem; margin-top: 2rem; border-bottom: 1px solid #ccc }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f5f5f5; padding: .8rem } .untrusted { border-left: 4px solid #b35900 }
@media (prefers-color-scheme: dark) { body { color: #e6e6e6; background: #161616 } pre { background: #222 } }
</style>
)";

// Control and invisible characters are shown, what means something to a browser is not.
std::string Escaped(const std::string& text) { return HtmlText(TerminalText(text)); }

class Page {
 public:
  void Heading(const char* text) { out_ += std::string("<h2>") + text + "</h2>\n"; }
  void Pre(const std::string& text, bool untrusted = false) {
    out_ += untrusted ? "<pre class=\"untrusted\">" : "<pre>";
    out_ += Escaped(text) + "</pre>\n";
  }
  void Table(const std::vector<const char*>& titles, const std::vector<std::vector<std::string>>& rows) {
    out_ += "<table>\n";
    if (!titles.empty()) Row(titles, "th");
    for (const auto& row : rows) Row(row, "td");
    out_ += "</table>\n";
  }
  std::string out_;

 private:
  template <class Cells>
  void Row(const Cells& cells, const char* tag) {
    out_ += "<tr>";
    for (const auto& cell : cells) out_ += std::string("<") + tag + ">" + Escaped(cell) + "</" + tag + ">";
    out_ += "</tr>\n";
  }
};

void PutHead(Page& page, const Json& one) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [title, key] : std::vector<std::pair<const char*, const char*>>{{"exchange", "exchange_id"},
                                                                                   {"session", "session_id"},
                                                                                   {"status", "status"},
                                                                                   {"message", "message"},
                                                                                   {"asked by", "asked_by"},
                                                                                   {"promised", "prepared_at"},
                                                                                   {"ended", "ended_at"},
                                                                                   {"provider", "provider"},
                                                                                   {"model", "model"},
                                                                                   {"bundle", "context_bundle_hash"},
                                                                                   {"prompt", "prompt_hash"},
                                                                                   {"stable part", "prefix_hash"},
                                                                                   {"response", "response_hash"}})
    if (const std::string text = TextOf(one, key); !text.empty()) rows.push_back({title, text});
  page.Table({}, rows);
}

void PutProvenance(Page& page, const Json& one, const Json& bundle) {
  page.Heading("What the model was told");
  std::vector<std::vector<std::string>> rows;
  for (const Json& ref : one.value("refs", Json::array()))
    rows.push_back({TextOf(ref, "artifact_id"), TextOf(ref, "artifact_type"), TextOf(ref, "included_reason"), TextOf(ref, "observed_at"),
                    TextOf(ref, "freshness_s"), TextOf(ref, "risk_flags"), TextOf(ref, "artifact_hash")});
  page.Table({"artifact", "type", "why", "observed", "age (s)", "flags", "hash"}, rows);
  rows.clear();
  for (const Json& exclusion : bundle.value("exclusions", Json::array()))
    rows.push_back({TextOf(exclusion, "artifact"), TextOf(exclusion, "reason"), TextOf(exclusion, "rank")});
  page.Heading("What it was not told");
  page.Table({"artifact", "why", "rank"}, rows);
  rows.clear();
  for (const Json& conflict : bundle.value("conflicts", Json::array()))
    rows.push_back({conflict.value("between", Json::array()).dump(), TextOf(conflict, "subject"), TextOf(conflict, "shown")});
  if (!rows.empty()) {
    page.Heading("Conflicts: shown, not resolved");
    page.Table({"between", "subject", "shown"}, rows);
  }
  if (const std::string disclosure = TextOf(bundle, "disclosure"); !disclosure.empty()) page.Pre(disclosure);
}

void PutFindings(Page& page, const Json& one) {
  page.Heading("Validation");
  if (const Json summary = one.value("validator_summary", Json()); summary.is_object()) page.Pre(summary.dump(2));
  std::vector<std::vector<std::string>> rows;
  for (const Json& drift : one.value("drift", Json::array()))
    rows.push_back({TextOf(drift, "driftwatch_id"), TextOf(drift, "severity"), TextOf(drift, "drift_class"), TextOf(drift, "status"),
                    TextOf(drift, "summary")});
  page.Table({"drift", "severity", "class", "status", "summary"}, rows);
}

}  // namespace

std::string ExchangePage(const Json& exchange) {
  Page page;
  const std::string title = "Exchange " + TextOf(exchange, "exchange_id");
  page.out_ = std::string(kHead) + "<title>" + Escaped(title) + "</title></head>\n<body><h1>" + Escaped(title) + "</h1>\n";
  PutHead(page, exchange);
  for (const Json& turn : exchange.value("turns", Json::array())) {
    const bool user = TextOf(turn, "speaker") == "user";
    page.Heading(user ? "Question" : "Answer");
    page.Pre(TextOf(turn, "content"), !user);
  }
  const auto parsed = ParseJson(TextOf(exchange, "context_bundle"));
  const Json bundle = parsed && parsed->is_object() ? *parsed : Json::object();
  PutProvenance(page, exchange, bundle);
  PutFindings(page, exchange);
  if (const Json answer = exchange.value("answer", Json()); answer.is_object()) {
    page.Heading("What the provider said, and what was proposed");
    page.Pre(answer.dump(2), true);
  }
  page.Heading("Context bundle");
  page.Pre(bundle.dump(2));
  page.Heading("Prompt");
  if (const auto messages = ParseJson(TextOf(exchange, "prompt")); messages && messages->is_array())
    for (const Json& message : *messages) page.Pre(TextOf(message, "role") + "\n\n" + TextOf(message, "content"));
  return page.out_ + "</body></html>\n";
}

}  // namespace acl::cli
