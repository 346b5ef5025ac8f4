#pragma once
// The order of document 004, section 10.2, held by types. Each is made from the one before it and takes it along, can be moved and not
// copied, and there is no other way to one:
//
//   CompileInput -Compile-> CompiledBundle -Render-> RenderedPrompt -+ SaidByModel-> Invoked -+ Validation-> Scanned
//     -AuditWriter-> WriteReceipt -> Shown
//
// So no model is asked without a bundle, nothing is written that was not scanned, and nothing is shown that was not written.

#include <memory>
#include <string>

#include "shared/aegis/render.h"

namespace acl::aegis {

// What a model said, and what its provider said about it (usage, finish reason, fingerprint).
struct SaidByModel {
  std::string text;
  Json details = Json::object();
};

// What the validator found in an answer.
struct Validation {
  Json summary = Json::object();  // document 004, section 9.1
  bool fail_closed = false;       // by the kernel's rules: the answer is recorded and not shown
};

namespace pipeline {

// Holds what was handed on until it is handed on again.
template <class Parts>
class Held {
 public:
  Held(Held&&) noexcept = default;
  Held& operator=(Held&&) noexcept = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 protected:
  explicit Held(Parts parts) : parts_(std::make_unique<const Parts>(std::move(parts))) {}
  ~Held() = default;
  const Parts& parts() const {
    ACL_CHECK(parts_ != nullptr, "a token of the pipeline that was handed on");
    return *parts_;
  }

 private:
  std::unique_ptr<const Parts> parts_;
};

struct InvokedParts {
  RenderedPrompt prompt;
  SaidByModel answer;
};

}  // namespace pipeline

class Invoked : private pipeline::Held<pipeline::InvokedParts> {
 public:
  Invoked(RenderedPrompt&& prompt, SaidByModel answer) : Held({std::move(prompt), std::move(answer)}) {}

  const RenderedPrompt& prompt() const { return parts().prompt; }
  const SaidByModel& answer() const { return parts().answer; }
};

namespace pipeline {
struct ScannedParts {
  Invoked invoked;
  Validation validation;
};
}  // namespace pipeline

class Scanned : private pipeline::Held<pipeline::ScannedParts> {
 public:
  Scanned(Invoked&& invoked, Validation validation) : Held({std::move(invoked), std::move(validation)}) {}

  const Invoked& invoked() const { return parts().invoked; }
  const Validation& validation() const { return parts().validation; }
};

namespace pipeline {
struct ReceiptParts {
  Scanned scanned;
  std::string exchange_id;
  std::string stored_text;  // of the answer, sanitised, as the record has it
};
}  // namespace pipeline

// That an exchange is on record.
class WriteReceipt : private pipeline::Held<pipeline::ReceiptParts> {
 public:
  WriteReceipt(WriteReceipt&&) noexcept = default;
  WriteReceipt& operator=(WriteReceipt&&) noexcept = default;

  const Scanned& scanned() const { return parts().scanned; }
  const std::string& exchange_id() const { return parts().exchange_id; }
  const std::string& stored_text() const { return parts().stored_text; }

 private:
  friend class AuditWriter;
  explicit WriteReceipt(pipeline::ReceiptParts parts) : Held(std::move(parts)) {}
};

// Writes exchanges; the product has one, and tests their own.
class AuditWriter {
 public:
  virtual ~AuditWriter() = default;
  // An error: the exchange is not on record, and there is nothing to show.
  virtual Result<WriteReceipt> Write(Scanned scanned) = 0;

 protected:
  // After the commit.
  static WriteReceipt Receipt(Scanned scanned, std::string exchange_id, std::string stored_text) {
    return WriteReceipt({std::move(scanned), std::move(exchange_id), std::move(stored_text)});
  }
};

// What a person sees: the text of the record, or that it is withheld.
class Shown {
 public:
  explicit Shown(WriteReceipt&& receipt) : receipt_(std::move(receipt)) {}

  bool withheld() const { return receipt_.scanned().validation().fail_closed; }
  // Empty if it is withheld.
  std::string text() const { return withheld() ? std::string() : receipt_.stored_text(); }
  const std::string& exchange_id() const { return receipt_.exchange_id(); }
  const WriteReceipt& receipt() const { return receipt_; }

 private:
  WriteReceipt receipt_;
};

}  // namespace acl::aegis
