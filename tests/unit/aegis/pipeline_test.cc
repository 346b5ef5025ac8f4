// Orders other than the document's do not compile.
#include "shared/aegis/pipeline.h"

#include "shared/aegis/compile.h"
#include "tests/unit/aegis/bundle_fixture.h"

namespace acl::aegis {
namespace {

using namespace bundles;

template <class T, class... From>
constexpr bool kMade = std::is_constructible_v<T, From...>;

// Nobody makes a bundle, a prompt or a receipt out of its parts.
static_assert(!kMade<CompiledBundle> && !kMade<CompiledBundle, Json> && !kMade<CompiledBundle, CompileInput> &&
              !kMade<CompiledBundle, BundleParts> && !kMade<CompiledBundle, std::unique_ptr<const BundleParts>>);
static_assert(!kMade<RenderedPrompt> && !kMade<RenderedPrompt, CompiledBundle> && !kMade<RenderedPrompt, std::vector<PromptMessage>> &&
              !kMade<RenderedPrompt, std::string> && !kMade<RenderedPrompt, std::unique_ptr<const PromptParts>>);
static_assert(!kMade<WriteReceipt> && !kMade<WriteReceipt, Scanned> && !kMade<WriteReceipt, std::string> &&
              !kMade<WriteReceipt, pipeline::ReceiptParts>);
// Each step from the one before it alone.
static_assert(kMade<Invoked, RenderedPrompt, SaidByModel> && !kMade<Invoked> && !kMade<Invoked, SaidByModel> &&
              !kMade<Invoked, RenderedPrompt> && !kMade<Invoked, CompiledBundle, SaidByModel> &&
              !kMade<Invoked, std::vector<PromptMessage>, SaidByModel> && !kMade<Invoked, std::string, SaidByModel>);
static_assert(kMade<Scanned, Invoked, Validation> && !kMade<Scanned> && !kMade<Scanned, Invoked> &&
              !kMade<Scanned, SaidByModel, Validation> && !kMade<Scanned, RenderedPrompt, Validation>);
static_assert(kMade<Shown, WriteReceipt> && !kMade<Shown> && !kMade<Shown, Scanned> && !kMade<Shown, Invoked> &&
              !kMade<Shown, SaidByModel> && !kMade<Shown, std::string>);
// Each once: handed on, never copied.
static_assert(!std::is_copy_constructible_v<CompiledBundle> && !std::is_copy_constructible_v<RenderedPrompt> &&
              !std::is_copy_constructible_v<Invoked> && !std::is_copy_constructible_v<Scanned> &&
              !std::is_copy_constructible_v<WriteReceipt> && !std::is_copy_constructible_v<Shown>);
static_assert(!std::is_copy_assignable_v<CompiledBundle> && !std::is_copy_assignable_v<RenderedPrompt> &&
              !std::is_copy_assignable_v<Invoked> && !std::is_copy_assignable_v<Scanned> && !std::is_copy_assignable_v<WriteReceipt>);
static_assert(!kMade<Invoked, RenderedPrompt&, SaidByModel> && !kMade<Scanned, Invoked&, Validation> && !kMade<Shown, WriteReceipt&>);
// A rebuilt prompt is text, and text is no prompt.
static_assert(!kMade<RenderedPrompt, Rebuilt> && !kMade<Invoked, Rebuilt, SaidByModel>);

class TestRecorder final : public AuditWriter {
 public:
  Result<WriteReceipt> Write(Scanned scanned) override {
    if (broken) return Error{Code::kUnavailable, "the exchange was not recorded"};
    std::string text = scanned.invoked().answer().text;
    return Receipt(std::move(scanned), "exchange-1", std::move(text));
  }
  bool broken = false;
};

Scanned ScannedAnswer(const std::string& text, bool fail_closed) {
  auto bundle = Compile(InputFor({Fact("1", "the disk is full")}, "is the disk full"));
  auto prompt = Render(std::move(*bundle));
  return Scanned(Invoked(std::move(*prompt), {text, {}}), {{}, fail_closed});
}

TEST(Pipeline, WhatIsShownIsWhatWasWritten) {
  TestRecorder recorder;
  auto receipt = recorder.Write(ScannedAnswer("It is full [ledger:1].", false));
  ASSERT_TRUE(receipt.ok());
  const std::string prompt_hash = receipt->scanned().invoked().prompt().prompt_hash();
  const Shown shown(std::move(*receipt));
  EXPECT_EQ(shown.text(), "It is full [ledger:1].");
  EXPECT_EQ(shown.receipt().scanned().invoked().prompt().prompt_hash(), prompt_hash);
}

TEST(Pipeline, WhatFailsClosedIsWithheld) {
  TestRecorder recorder;
  auto receipt = recorder.Write(ScannedAnswer("I restarted it.", true));
  ASSERT_TRUE(receipt.ok());
  const Shown shown(std::move(*receipt));
  EXPECT_TRUE(shown.withheld());
  EXPECT_EQ(shown.text(), "");
}

TEST(Pipeline, WithoutARecordThereIsNothingToShow) {
  TestRecorder recorder;
  recorder.broken = true;
  const auto receipt = recorder.Write(ScannedAnswer("It is full.", false));
  ASSERT_FALSE(receipt.ok());
  EXPECT_EQ(receipt.error().message, "the exchange was not recorded");
}

}  // namespace
}  // namespace acl::aegis
