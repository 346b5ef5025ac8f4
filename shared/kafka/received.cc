#include "shared/kafka/received.h"

namespace acl::kafka {

Received TakeReceived(const rd_kafka_message_t& message, int assignment) {
  Received out;
  out.topic = rd_kafka_topic_name(message.rkt);
  out.partition = message.partition;
  out.offset = message.offset;
  out.assignment = assignment;
  if (message.key) out.key.assign(static_cast<const char*>(message.key), message.key_len);
  if (message.payload) out.value.assign(static_cast<const char*>(message.payload), message.len);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return out;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t n = 0; rd_kafka_header_get_all(headers, n, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++n) {
    out.headers[name] = value ? std::string(static_cast<const char*>(value), size) : std::string();
  }
  return out;
}

}  // namespace acl::kafka
