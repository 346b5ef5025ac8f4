#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <set>

#include "shared/queue/doorbell_client.h"
#include "shared/queue/doorbell_frame.h"
#include "shared/queue/doorbell_server.h"
#include "shared/queue/doorbell_stream.h"
#include "tests/unit/queue/heard.h"

namespace acl {
namespace {

TEST(DoorbellFrame, RoundTrips) {
  std::string wire = doorbell::EncodeHello(WorkerSessionId{Subject(7).uuid}, {"default", "gpu"}, "w1", true);
  std::uint8_t prefix[4];
  std::memcpy(prefix, wire.data(), 4);
  ASSERT_TRUE(doorbell::DecodeLength(prefix));
  EXPECT_EQ(*doorbell::DecodeLength(prefix), wire.size() - 4);
  auto message = doorbell::Decode(std::string_view(wire).substr(4));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->kind, doorbell::Message::Kind::kHello);
  EXPECT_EQ(message->session.uuid, Subject(7).uuid);
  EXPECT_EQ(message->queues, (std::vector<std::string>{"default", "gpu"}));
  EXPECT_TRUE(message->by_messages);
}

StepMessage ReadyRow(std::uint8_t subject) {
  StepMessage row;
  row.key = {"default", 1, ReadyShard(Subject(subject)), WallTimeFromMicros(1'790'000'000'000'000), Subject(subject)};
  row.kind = "workflow";
  row.required_version = 2;
  return row;
}

// Nobody vouches for more than the key.
StepMessage AsHeard(std::uint8_t subject) {
  StepMessage row = ReadyRow(subject);
  row.kind.clear();
  row.required_version = 1;
  return row;
}

TEST(DoorbellFrame, ReadyRowsGoInAsManyFramesAsTheyNeed) {
  EXPECT_TRUE(doorbell::EncodeReady({}).empty());
  const std::vector<std::string> rows(1'000, EncodeStepMessage(ReadyRow(1)));
  const auto frames = doorbell::EncodeReady(rows);
  EXPECT_GT(frames.size(), 1u);
  std::vector<std::string> heard;
  for (const std::string& frame : frames) {
    EXPECT_LE(frame.size() - 4, doorbell::kMaxFrameBytes);
    auto message = doorbell::Decode(std::string_view(frame).substr(4));
    ASSERT_TRUE(message);
    EXPECT_EQ(message->kind, doorbell::Message::Kind::kWork);
    heard.insert(heard.end(), message->ready.begin(), message->ready.end());
  }
  EXPECT_EQ(heard, rows);
}

TEST(DoorbellFrame, RefusesWhatIsNoFrameAndIgnoresNewerOnes) {
  const std::uint8_t huge[4] = {0xff, 0xff, 0xff, 0xff}, zero[4] = {0, 0, 0, 0};
  EXPECT_FALSE(doorbell::DecodeLength(huge));
  EXPECT_FALSE(doorbell::DecodeLength(zero));
  EXPECT_FALSE(doorbell::Decode("\x0a\xff\xff"));
  auto newer = doorbell::Decode(std::string_view("\x08\x09\xfa\x01\x00", 5));  // schema 9, field 31
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->kind, doorbell::Message::Kind::kUnknown);
}

TEST(DoorbellFrame, RefusesToNameMoreThanAReceiverKeeps) {
  const auto decoded = [](const std::string& wire) { return doorbell::Decode(std::string_view(wire).substr(4)); };
  const std::vector<std::string> most(doorbell::kMostNames, "queue"), too_many(doorbell::kMostNames + 1, "");
  const std::vector<std::string> long_name{std::string(doorbell::kMostNameBytes + 1, 'q')};
  const std::vector<std::string> too_long(doorbell::kMostNames, std::string(doorbell::kMostNameBytes, 'q'));
  EXPECT_TRUE(decoded(doorbell::EncodeHello({}, most, "w1")));
  EXPECT_TRUE(decoded(doorbell::EncodeRoom({}, 1, 1, most)));
  for (const auto& names : {too_many, long_name, too_long}) {
    EXPECT_FALSE(decoded(doorbell::EncodeHello({}, names, "w1"))) << names.size();
    EXPECT_FALSE(decoded(doorbell::EncodeRoom({}, 1, 1, names))) << names.size();
  }
  EXPECT_FALSE(decoded(doorbell::EncodeHello({}, {}, long_name.front())));
  EXPECT_FALSE(decoded(doorbell::EncodeWork(long_name.front())));
  EXPECT_FALSE(decoded(doorbell::EncodeReady(std::vector<std::string>(doorbell::kMostReady + 1, "")).front()));
  EXPECT_FALSE(decoded(doorbell::EncodePassOn(std::vector<std::string>(doorbell::kMostReady + 1, "")).front()));
}

TEST(Doorbell, HearsNothingOfWhoDidNotSayHello) {
  Heard heard;
  DoorbellServer::Options options;
  options.on_closed = [&](const SubjectId&) { heard.Add("closed"); };
  options.on_work = [&] { heard.Add("work"); };
  DoorbellServer server(std::move(options));
  ASSERT_TRUE(server.Start().ok());
  boost::asio::io_context io;
  for (const std::string& frame : {doorbell::EncodeClosed(Subject(1)), doorbell::EncodeWork("default"),
                                   doorbell::EncodeRoom(WorkerSessionId{Subject(7).uuid}, 1, 1, {})}) {
    boost::asio::ip::tcp::socket socket(io);
    socket.connect({boost::asio::ip::make_address("127.0.0.1"), std::uint16_t(server.address().port)});
    boost::asio::write(socket, boost::asio::buffer(doorbell::EncodePing() + frame));
    std::array<char, 256> answer;
    boost::system::error_code error;
    while (!error) socket.read_some(boost::asio::buffer(answer), error);  // until the server closes it
  }
  EXPECT_EQ(server.counts().received, 6);
  EXPECT_EQ(heard.Count("closed") + heard.Count("work"), 0);
}

TEST(Doorbell, APeerThatDoesNotReadIsQueuedForWithinBytes) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor acceptor(io, {boost::asio::ip::make_address("127.0.0.1"), 0});
  boost::asio::ip::tcp::socket ours(io), theirs(io);
  ours.connect(acceptor.local_endpoint());
  acceptor.accept(theirs);
  auto stream = std::make_shared<doorbell::Stream>(std::move(ours), nullptr, nullptr);
  const std::string frame(doorbell::kMaxFrameBytes, 'x');  // the io_context does not run: nothing of it goes out
  std::size_t taken = 0;
  while (stream->Send(frame)) taken += frame.size();
  EXPECT_LE(taken, doorbell::Stream::kMaxQueuedBytes + doorbell::kMaxFrameBytes) << "what is queued, and one on its way";
  EXPECT_GT(taken, 0u);
  stream->Close();
  io.run();
}

TEST(Doorbell, RingsWorkersOfTheQueueAndTheHolderAndComesBackAfterACut) {
  Heard heard;
  DoorbellServer::Options server_options;
  server_options.on_closed = [&](const SubjectId& subject) { heard.Add("closed " + subject.ToString()); };
  DoorbellServer server(std::move(server_options));
  ASSERT_TRUE(server.Start().ok());

  DoorbellClient::Options options;
  options.coordinators = {server.address()};
  options.queues = {"default"};
  options.retry_min = std::chrono::milliseconds(10);
  options.on_work = [&](const std::string& queue) { heard.Add("work " + queue); };
  options.on_look = [&] { heard.Add("look"); };
  options.on_woken = [&](const SubjectId& subject) { heard.Add("woken " + subject.ToString()); };
  options.on_lines = [&](bool all) { heard.Add(all ? "all lines" : "a line lost"); };
  DoorbellClient client(std::move(options));
  ASSERT_TRUE(client.Start().ok());
  ASSERT_TRUE(heard.WaitFor("work default", 1)) << "a new line looks once";
  const WorkerSessionId session{Subject(42).uuid};
  client.SetSession(session);
  client.TellClosed(Subject(1));  // after the hello on the same stream: once it is heard, so is the hello
  ASSERT_TRUE(heard.WaitFor("closed " + Subject(1).ToString()));

  EXPECT_TRUE(heard.WaitFor("work default", 2)) << "each hello is answered once its queues are known";
  server.RingWork("default");
  EXPECT_TRUE(heard.WaitFor("work default", 3));
  EXPECT_EQ(heard.Count("look"), 0);
  server.RingWork("default", true);
  EXPECT_TRUE(heard.WaitFor("work default", 4));
  EXPECT_EQ(heard.Count("look"), 1) << "before the work it is about";
  server.RingSubject(session, Subject(9));
  EXPECT_TRUE(heard.WaitFor("woken " + Subject(9).ToString()));

  EXPECT_TRUE(heard.WaitFor("all lines", 1));

  server.CutAll();
  EXPECT_TRUE(heard.WaitFor("a line lost", 1));
  EXPECT_TRUE(heard.WaitFor("all lines", 2));
  EXPECT_TRUE(heard.WaitFor("work default", 5)) << "connected again";
  client.TellClosed(Subject(2));
  ASSERT_TRUE(heard.WaitFor("closed " + Subject(2).ToString()));
  server.RingSubject(session, Subject(10));
  EXPECT_TRUE(heard.WaitFor("woken " + Subject(10).ToString())) << "the session was told again";
  client.Stop();
  server.Stop();
}

TEST(Doorbell, TellsWhichRowsWereMadeReady) {
  Heard heard;
  DoorbellServer::Options server_options;
  server_options.on_work = [&] { heard.Add("look for it"); };
  server_options.on_ready = [&](const std::vector<StepMessage>& rows) {
    for (const StepMessage& row : rows) heard.Add("ready " + EncodeStepMessage(row));
  };
  const auto row_heard = [&](std::uint8_t subject) { return heard.WaitFor("ready " + EncodeStepMessage(AsHeard(subject))); };
  DoorbellServer server(std::move(server_options));
  ASSERT_TRUE(server.Start().ok());
  DoorbellClient::Options options;
  options.coordinators = {server.address()};
  options.queues = {"default"};
  options.on_work = [&](const std::string& queue) { heard.Add("work " + queue); };
  options.on_woken = [](const SubjectId&) {};
  DoorbellClient client(std::move(options));
  ASSERT_TRUE(client.Start().ok());
  ASSERT_TRUE(heard.WaitFor("work default", 1));
  client.TellReady({ReadyRow(1), ReadyRow(2)});
  client.TellReady({});
  EXPECT_TRUE(row_heard(1) && row_heard(2));
  EXPECT_EQ(heard.Count("look for it"), 0);
  client.TellWork();
  EXPECT_TRUE(heard.WaitFor("look for it", 1)) << "it is not known which";
  StepMessage bad = ReadyRow(3);
  bad.key.priority = 9;
  client.TellReady({ReadyRow(4), bad});
  EXPECT_TRUE(heard.WaitFor("look for it", 2)) << "not all of it was understood";
  client.Stop();
  server.Stop();
}

TEST(DoorbellFrame, WhatIsToBePassedOnRoundTrips) {
  const std::vector<std::string> rows(1'000, EncodeStepMessage(ReadyRow(1)));
  for (const auto& said : {std::vector<std::string>(), rows}) {
    std::vector<std::string> heard;
    for (const std::string& frame : doorbell::EncodePassOn(said)) {
      EXPECT_LE(frame.size() - 4, doorbell::kMaxFrameBytes);
      auto message = doorbell::Decode(std::string_view(frame).substr(4));
      ASSERT_TRUE(message);
      EXPECT_EQ(message->kind, doorbell::Message::Kind::kPassOn);
      heard.insert(heard.end(), message->ready.begin(), message->ready.end());
    }
    EXPECT_EQ(heard, said);
  }
}

// Two coordinators know of each other through their workers only.
TEST(Doorbell, AWorkerPassesOnToTheOtherCoordinators) {
  Heard heard;
  const auto start = [&](const std::string& name) {
    DoorbellServer::Options options;
    options.on_work = [&heard, name] { heard.Add(name + " looks"); };
    options.on_ready = [&heard, name](const std::vector<StepMessage>& rows) {
      for (const StepMessage& row : rows) heard.Add(name + " " + EncodeStepMessage(row));
    };
    auto server = std::make_unique<DoorbellServer>(std::move(options));
    EXPECT_TRUE(server->Start().ok());
    return server;
  };
  const auto a = start("a"), b = start("b");
  DoorbellClient::Options options;
  options.coordinators = {a->address(), b->address()};
  options.queues = {"default"};
  options.on_work = [&](const std::string& queue) { heard.Add("work " + queue); };
  options.on_woken = [](const SubjectId&) {};
  options.on_lines = [&](bool all) { heard.Add(all ? "all lines" : "a line lost"); };
  a->PassOn({});  // to nobody
  DoorbellClient client(std::move(options));
  ASSERT_TRUE(client.Start().ok());
  ASSERT_TRUE(heard.WaitFor("work default", 2));
  a->PassOn({ReadyRow(9)});  // to nobody that has a session
  client.SetSession(WorkerSessionId{Subject(42).uuid});
  ASSERT_TRUE(heard.WaitFor("work default", 4)) << "each hello is answered";
  a->PassOn({ReadyRow(1), ReadyRow(2)});
  EXPECT_TRUE(heard.WaitFor("b " + EncodeStepMessage(AsHeard(1))));
  EXPECT_TRUE(heard.WaitFor("b " + EncodeStepMessage(AsHeard(2))));
  EXPECT_EQ(heard.Count("b " + EncodeStepMessage(AsHeard(9))), 0);
  EXPECT_EQ(heard.Count("b looks"), 0);
  a->PassOn({});
  EXPECT_TRUE(heard.WaitFor("b looks"));
  b->PassOn({});
  EXPECT_TRUE(heard.WaitFor("a looks"));
  EXPECT_EQ(heard.Count("a looks"), 1) << "what it said itself does not come back";
  EXPECT_EQ(heard.Count("a " + EncodeStepMessage(AsHeard(1))), 0);
  EXPECT_EQ(heard.Count("b looks"), 1);
  client.Stop();
  a->Stop(), b->Stop();
}

// An address that takes no connection and refuses none, as that of a machine that is gone: the kernel tries it for two minutes.
TEST(Doorbell, DoesNotWaitForAnAddressThatSaysNothing) {
  boost::asio::io_context io;
  using boost::asio::ip::tcp;
  tcp::acceptor full(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  full.listen(0);  // room for one, which is never accepted
  const auto port = full.local_endpoint().port();
  tcp::socket first(io);
  first.connect(full.local_endpoint());
  // Of the sockets that wait for an answer from there: the ports they have here.
  const auto waiting = [port] {
    std::set<std::string> ports;
    std::ifstream table("/proc/net/tcp");
    std::string line;
    while (std::getline(table, line)) {
      const std::string to = fmt::format("0100007F:{:04X} 02", port);  // SYN_SENT
      if (const auto at = line.find(to); at != std::string::npos) ports.insert(line.substr(line.find(": "), at));
    }
    return ports;
  };
  DoorbellClient::Options options;
  options.coordinators = {{"127.0.0.1", port}};
  options.retry_min = std::chrono::milliseconds(1);
  options.retry_max = std::chrono::milliseconds(5);
  options.connect_within = std::chrono::milliseconds(30);
  DoorbellClient client(std::move(options));
  ASSERT_TRUE(client.Start().ok());
  std::set<std::string> seen;
  Heard heard;
  EXPECT_TRUE(heard.Watch([&] {
    seen.merge(waiting());
    return seen.size() >= 3;
  })) << "it begins anew, and would ask for the name again";
  client.Stop();
}

TEST(Doorbell, WhoHearsByMessagesIsNotRungForWhatARelayWasTold) {
  Heard heard;
  DoorbellServer server(DoorbellServer::Options{});
  ASSERT_TRUE(server.Start().ok());
  const auto start = [&](const std::string& name, bool by_messages) {
    DoorbellClient::Options options;
    options.coordinators = {server.address()};
    options.queues = {"default"};
    options.by_messages = by_messages;
    options.on_work = [&heard, name](const std::string&) { heard.Add(name); };
    options.on_woken = [](const SubjectId&) {};
    auto client = std::make_unique<DoorbellClient>(std::move(options));
    EXPECT_TRUE(client->Start().ok());
    EXPECT_TRUE(heard.WaitFor(name)) << "a new line looks once";
    return client;
  };
  const auto hears = start("hears", true), looks = start("looks", false);
  server.RingHinted("default");
  EXPECT_TRUE(heard.WaitFor("looks", 2));
  server.RingHinted("another");
  server.RingWork("default");
  EXPECT_TRUE(heard.WaitFor("looks", 3));
  EXPECT_TRUE(heard.WaitFor("hears", 2));
  EXPECT_EQ(heard.Count("hears"), 2) << "once as it came, once with all";
  hears->Stop(), looks->Stop();
  server.Stop();
}

TEST(DoorbellFrame, RoomAndGrantsRoundTrip) {
  const WorkerSessionId session{Subject(3).uuid};
  auto room = doorbell::Decode(std::string_view(doorbell::EncodeRoom(session, 70, 2, {"workflow", "counter"})).substr(4));
  ASSERT_TRUE(room);
  EXPECT_EQ(room->kind, doorbell::Message::Kind::kRoom);
  EXPECT_EQ(room->session, session);
  EXPECT_EQ(room->limit, 70u);
  EXPECT_EQ(room->known_version, 2);
  EXPECT_EQ(room->kinds, (std::vector<std::string>{"workflow", "counter"}));
  EXPECT_TRUE(doorbell::EncodeGranted(session, {}).empty());
  std::vector<SubjectId> many(doorbell::kMostGranted + 1, Subject(1));
  many.back() = Subject(2);
  const auto frames = doorbell::EncodeGranted(session, many);
  ASSERT_EQ(frames.size(), 2u) << "what one frame does not hold goes in a second";
  EXPECT_LE(frames[0].size() - 4, doorbell::kMaxFrameBytes);
  auto last = doorbell::Decode(std::string_view(frames[1]).substr(4));
  ASSERT_TRUE(last);
  EXPECT_EQ(last->kind, doorbell::Message::Kind::kGranted);
  EXPECT_EQ(last->subjects, (std::vector<SubjectId>{Subject(2)}));
}

TEST(Doorbell, TellsHowMuchRoomThereIsAndWhatWasGranted) {
  Heard heard;
  DoorbellServer::Options server_options;
  server_options.on_closed = [&](const SubjectId&) { heard.Add("said"); };
  DoorbellServer server(std::move(server_options));
  ASSERT_TRUE(server.Start().ok());
  DoorbellClient::Options options;
  options.coordinators = {server.address()};
  options.queues = {"default"};
  options.retry_min = std::chrono::milliseconds(10);
  options.kinds = {"workflow"};
  options.known_version = 1;
  options.on_work = [&](const std::string&) {};
  options.on_woken = [&](const SubjectId&) {};
  options.on_lines = [&](bool all) { heard.Add(all ? "all lines" : "a line lost"); };
  options.on_granted = [&](const WorkerSessionId&, const std::vector<SubjectId>& subjects) {
    for (const SubjectId& subject : subjects) heard.Add("granted " + subject.ToString());
  };
  DoorbellClient client(std::move(options));
  ASSERT_TRUE(client.Start().ok());
  ASSERT_TRUE(heard.WaitFor("all lines"));
  int told = 0;
  const auto said = [&] {  // what the client was told before has reached the server
    client.TellClosed(Subject(1));
    return heard.WaitFor("said", ++told);
  };
  CreateItem item;
  item.kind = "workflow";
  const WorkerSessionId session{Subject(42).uuid}, next{Subject(43).uuid};
  client.SetSession(session);
  ASSERT_TRUE(said());
  EXPECT_FALSE(server.room().Take(item)) << "none was said";
  client.SetRoom(next, 5);
  client.SetRoom(session, 2);
  ASSERT_TRUE(said());
  EXPECT_EQ(server.room().Take(item), session);
  EXPECT_EQ(server.room().Take(item), session);
  EXPECT_FALSE(server.room().Take(item)) << "two, not five";
  server.RingGranted(next, {Subject(7)});
  server.RingGranted(session, {Subject(8), Subject(9)});
  EXPECT_TRUE(heard.WaitFor("granted " + Subject(9).ToString()));
  EXPECT_EQ(heard.Count("granted " + Subject(7).ToString()), 0);
  ASSERT_TRUE(said());
  EXPECT_EQ(server.room().Take(item), session) << "what is heard of makes room";
  client.SetRoom(session, 0);
  ASSERT_TRUE(said());
  EXPECT_FALSE(server.room().Take(item)) << "room is taken back";
  client.SetRoom(session, 2);
  ASSERT_TRUE(said());
  EXPECT_TRUE(server.room().Take(item));
  client.SetSession(next);
  ASSERT_TRUE(said());
  EXPECT_FALSE(server.room().Take(item)) << "of a new session nothing was said yet";
  client.SetRoom(next, 1);
  ASSERT_TRUE(said());
  EXPECT_EQ(server.room().Take(item), next);
  server.CutAll();
  ASSERT_TRUE(heard.WaitFor("all lines", 2));
  ASSERT_TRUE(said());
  EXPECT_EQ(server.room().Take(item), next) << "said again with the next line";
  client.Stop();
  server.Stop();
}

TEST(Doorbell, SaysThatThePortIsTaken) {
  DoorbellServer first({});
  ASSERT_TRUE(first.Start().ok());
  DoorbellServer::Options options;
  options.listen = first.address();
  DoorbellServer second(std::move(options));
  Status started = second.Start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.code(), Code::kUnavailable);
}

// Frames that come together are read with one call, and one may be larger than what is read at once.
TEST(Doorbell, ManyFramesAndLargeOnes) {
  Heard heard;
  DoorbellServer::Options server_options;
  server_options.on_closed = [&](const SubjectId& subject) { heard.Add(subject.ToString()); };
  DoorbellServer server(std::move(server_options));
  ASSERT_TRUE(server.Start().ok());
  DoorbellClient::Options options;
  options.coordinators = {server.address()};
  options.on_work = [&](const std::string&) {};
  options.on_woken = [&](const SubjectId& subject) { heard.Add("woken " + subject.ToString()); };
  options.on_lines = [&](bool all) { heard.Add(all ? "all lines" : "a line lost"); };
  options.on_granted = [&](const WorkerSessionId&, const std::vector<SubjectId>& subjects) {
    heard.Add("granted " + std::to_string(subjects.size()));
  };
  DoorbellClient client(std::move(options));
  const WorkerSessionId session{Subject(42).uuid};
  client.SetSession(session);
  ASSERT_TRUE(client.Start().ok());
  ASSERT_TRUE(heard.WaitFor("all lines"));
  client.TellClosed(Subject(1));
  ASSERT_TRUE(heard.WaitFor(Subject(1).ToString()));  // the hello was heard before
  for (std::uint8_t i = 2; i < 250; ++i) client.TellClosed(Subject(i));
  for (std::uint8_t i = 2; i < 250; ++i) EXPECT_TRUE(heard.WaitFor(Subject(i).ToString())) << int(i);
  for (const std::size_t size : {std::size_t(1), std::size_t(300), std::size_t(1000)}) {
    server.RingSubject(session, Subject(9));
    server.RingGranted(session, std::vector<SubjectId>(size, Subject(7)));
    server.RingSubject(session, Subject(std::uint8_t(size % 250)));
    EXPECT_TRUE(heard.WaitFor("granted " + std::to_string(size)));
    EXPECT_TRUE(heard.WaitFor("woken " + Subject(std::uint8_t(size % 250)).ToString()));
  }
  EXPECT_EQ(heard.Count("a line lost"), 0);
}

}  // namespace
}  // namespace acl
