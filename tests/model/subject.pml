/* One subject of the kernel as it is built: lease row, head, ready rows, inbox and sessions in one database; workers, the reaper, a client, a
 * queue that loses what it likes. README.md says which action is which function. An `atomic` is one transaction of PostgreSQL (or the part of
 * it behind the row lock that orders it); between two of them anything may happen, so a worker that is not scheduled is one that is frozen.
 * Time is abstract: a session may be over at any moment while the budget lasts. Each #ifdef MUT_ is a mistake that must turn the model red. */
#ifndef W
#define W 2        /* worker processes */
#endif
#ifndef S
#define S 2        /* steps; from the second on a signal is needed first */
#endif
#ifndef TROUBLE
#define TROUBLE 2  /* how much goes wrong: sessions that end though their process lives, crashes, lost answers, leases given back */
#endif
#define SESSIONS 8 /* 0 is nobody */
#define EPOCH 16   /* tokens of an epoch; the counter stays below */

#define FREE 0
#define NONE 0
#define UNUSED 0
#define ALIVE 1
#define OVER 2     /* its time is over by the database's clock, and nobody has marked it */
#define DEAD 3     /* marked; for ever */
#define REAPED 4   /* and no lease names it */

/* leases, subject_head, ready, inbox, worker_sessions */
byte l_session = FREE, l_token = EPOCH + 1, l_wake = 0, l_name = 0; bool l_closed = false;
byte head = 1, head_token = EPOCH + 1;
byte done = 0, read = 0; bool attempt = false;  /* the fold of the journal: steps done, signals read, an attempt promised */
byte ready = 1, epoch = 1;
byte inbox = 0;  /* the id of the one unread row; an id is never used twice */
byte session[SESSIONS]; bool orphan[SESSIONS]; byte sessions = W + 1;
/* the queue: messages that name the ready row */
#ifdef QUEUE
byte messages = 0; bool told = false;
#endif
/* the outside: the highest token seen, how often each step's effect was applied, and which claim used which token */
byte out_token = 0, applied[S], claims = 0, out_claim = 0;
byte trouble = TROUBLE, signals = 1, posts = 0;
#ifdef FAILOVER
byte r_session, r_token, r_wake, r_head, r_head_token, r_done, r_read, r_ready, r_inbox, r_signals, r_s[SESSIONS]; bool r_attempt, r_closed, promoted = false;
#define SETTLED promoted
#else
#define SETTLED true
#endif

#define MINT(old) ((old + 1 > epoch * EPOCH + 1) -> old + 1 : epoch * EPOCH + 1)

#define NAME 1 /* both processes have one name: a stateful set restarts what is only frozen */
#if defined(MUT_NO_FENCE)
#define MINE true
#elif defined(MUT_OWNER_NAME)
#define MINE (l_session != FREE && l_name == NAME && !l_closed)
#elif defined(MUT_FENCE_EARLIER)
#define MINE proved
#else
#define MINE (l_session == mine && l_token == token && !l_closed)
#endif
#ifdef MUT_NO_WAKE
#define NOT_WOKEN true
#else
#define NOT_WOKEN (l_wake == wake)
#endif
/* What the holder has read: the rows, and the counter as it was then. */
#define READ_INBOX pend = inbox; wake = l_wake
/* Rows go by their ids: of a row that a failover took with it there is nothing to delete. */
#define CONSUME if :: inbox == pend -> inbox = 0 :: else fi
/* Below a token of an earlier epoch the counter rises to where no earlier epoch's was: what was read before a failover is never met again. */
#ifdef MUT_WAKE_IN_ROW
#define RAISED(old) (old + 1)
#else
#define RAISED(old) ((l_token < epoch * EPOCH && old < epoch * EPOCH) -> epoch * EPOCH : old + 1)
#endif
#ifdef MUT_NO_HEAD
#define AT_BASE true
#else
#define AT_BASE (head == base)
#endif

/* What may only happen if the commit was right. */
inline right() {
  assert(l_session == mine && l_token == token && !l_closed);  /* P1: only the holder writes */
  assert(head == base);                                        /* P3: on the journal it has read */
  assert(head_token <= token);                                 /* P4: tokens never fall along the journal */
}
inline append(n) { head = head + n; head_token = token; base = head }
inline drop() { held = false; acted = false; pend = 0; a = false; token = 0; base = 0; wake = 0; d = 0; r = 0; claim = 0 }
/* The mutant proves in a transaction of its own. */
inline prove() {
#ifdef MUT_FENCE_EARLIER
  atomic { proved = (l_session == mine && l_token == token && !l_closed) };
#else
  skip;
#endif
}
inline refused() {
#ifndef FAILOVER
  /* P5: a holder whose commit is refused has lost the lease; it never decided on another journal than the one of its token */
  assert(!(l_session == mine && l_token == token && !l_closed && head != base));
#endif
  /* action: release_lease. What was refused to a holder (a head that went back) is given back; to others it changes nothing. */
  if :: l_session == mine && l_token == token -> l_session = FREE; ready++ :: else fi;
  drop()
}

proctype Worker(byte name) {
  byte mine = name, token, base, wake, d, r, claim; byte pend; bool held = false, acted = false, a, proved = false, seen = false, gone = false;
again:
  do
  :: atomic { l_closed && !held && SETTLED -> break }

  /* A process dies wherever it is, or finds that its session is over; then it is another session's. */
  :: atomic { mine != NONE && session[mine] <= OVER && trouble > 0 && !l_closed -> trouble--; orphan[mine] = true; mine = NONE; drop() }
  /* action: open_session */
  :: atomic { mine == NONE && !l_closed -> mine = sessions; session[mine] = ALIVE; sessions++ }

  /* action: heartbeat. Lock first, clock second: what is over is refused, and the process takes a new session. */
#ifdef MUT_RENEW
  :: atomic { mine != NONE && session[mine] == ALIVE && trouble > 0 };
     atomic { if :: session[mine] <= OVER -> assert(session[mine] == ALIVE); session[mine] = ALIVE :: else fi }
#endif
  :: atomic { mine != NONE && session[mine] >= OVER && !l_closed -> mine = NONE; drop() }

  /* action: reconcile. A lease that names our session and that we do not know (a grant whose answer was lost, a database that went back). */
  :: atomic { mine != NONE && session[mine] <= OVER && !held && l_session == mine && !l_closed -> l_session = FREE; ready++ }

  /* action: claim. By a message, or by looking for rows that nobody came for. Only a claim deletes a ready row. */
#if defined(MUT_NO_LATE_LOOK)
  :: atomic { mine != NONE && !held && ready > 0 && messages > 0 -> messages-- };
#elif defined(QUEUE)
  :: atomic { mine != NONE && !held && ready > 0 -> if :: messages > 0 -> messages-- :: else fi };
#else
  :: atomic { mine != NONE && !held && ready > 0 };
#endif
#ifdef MUT_READY_DELETED_FIRST
     atomic { gone = (ready > 0); if :: gone -> ready-- :: else fi };
     if :: atomic { trouble > 0 -> trouble--; orphan[mine] = true; mine = NONE; gone = false; goto again } :: skip fi;
#endif
#ifdef MUT_GRANT_BESIDE_REAP
     atomic { seen = (session[mine] <= OVER) };
#endif
#ifdef MUT_STALE_CLAIM
     atomic { base = head; d = done; r = read; a = attempt };
#endif
     atomic {
       if
#if defined(MUT_GRANT_BESIDE_REAP)
       :: !seen -> mine = NONE; drop()
#else
       :: session[mine] >= DEAD -> mine = NONE; drop()  /* refused under the session's lock: the process takes a new one */
#endif
       :: else ->
#ifdef MUT_READY_DELETED_FIRST
          if :: gone ->
#else
          if :: ready > 0 -> ready--;
#endif
               if
               :: l_session == FREE && !l_closed ->
                  token = MINT(l_token); l_token = token; l_session = mine; l_name = NAME; held = true;
#ifdef QUEUE
                  told = false;
#endif
                  
#ifdef FAILOVER
                  claims++; claim = claims;
#endif
#ifndef MUT_STALE_CLAIM
                  base = head; d = done; r = read; a = attempt;
#endif
                  READ_INBOX
               :: else -> skip  /* held or closed: the row goes, its holder sees the wake-up counter */
               fi
          :: else fi
       fi;
       seen = false; gone = false };

  :: held && pend > 0 ->
     prove();
     /* action: commit_inbox. An input becomes an event; its row goes with the commit. */
     atomic { if :: MINE && AT_BASE -> right(); CONSUME; read++; r = read; pend = 0; append(1) :: else -> refused() fi }

  :: held && pend == 0 && !a && d < S && (d == 0 || r > 0) ->
     prove();
     /* action: commit_intent. The attempt is promised before anything reaches the outside. */
     atomic { if :: MINE && AT_BASE -> right(); attempt = true; a = true; append(1) :: else -> refused() fi }

  :: held && pend == 0 && a && !acted ->
     /* action: effect. With its key and token; a receiver that knows tokens takes nothing from a lower one. */
     atomic {
       if
#ifndef MUT_RECEIVER_BLIND
       :: token < out_token -> skip
#endif
       :: else ->
          assert(token >= out_token);
          assert(!(token == out_token && out_claim != NONE && out_claim != claim));  /* P6: no token is two claims' */
          out_token = token; out_claim = claim;
#ifdef MUT_NO_KEY
          applied[d]++;
#else
          applied[d] = 1;
#endif
          assert(applied[d] <= 1)  /* P7: an effect is applied once */
       fi;
       acted = true }

  :: held && acted ->
     prove();
     /* action: commit_result. Fused: the next step, if it can start at once, is promised by the same commit. */
     atomic {
       if
       :: MINE && AT_BASE ->
          right(); assert(done == d && attempt);  /* P2: a step completes once */
          done++; d = done; attempt = false; a = false; append(1); acted = false;
          if :: d < S && r > 0 -> attempt = true; a = true :: skip fi
       :: else -> refused()
       fi };
     /* action: read_back. The answer is lost now and then: the worker asks whether the event of its token is there, and goes on from it. */
     if :: atomic { held && trouble > 0 -> trouble--; if :: head == base && head_token == token && l_token == token -> skip :: else -> drop() fi } :: skip fi

  :: held && pend == 0 && !a && (d == S || (d > 0 && r == 0)) ->
     prove();
     /* action: release_or_close. The wake-up counter is proved by the same UPDATE: an input that came meanwhile is read first (moved). */
     atomic {
       if
       :: MINE && AT_BASE && !NOT_WOKEN -> READ_INBOX
       :: MINE && AT_BASE && NOT_WOKEN -> right(); append(1); l_session = FREE;
          if :: d == S -> l_closed = true; assert(inbox == 0)  /* P8: no acknowledged input is left behind */ :: else fi;
#ifdef MUT_LEASE_DELETED
          l_token = EPOCH;
#endif
          drop()
       :: !(MINE && AT_BASE) -> refused()
       fi }

  /* action: release_ready. Given back to others (fairness, drain): the ready row goes with the commit. */
  :: atomic { held && pend == 0 && !a && d < S && trouble > 0 && MINE && AT_BASE && l_wake == wake ->
       trouble--; right(); append(1); l_session = FREE; drop();
#ifndef MUT_READY_APART
       ready++
#endif
     }
#ifdef MUT_READY_APART
     ; if :: atomic { trouble > 0 -> trouble--; orphan[mine] = true; mine = NONE } :: atomic { ready++ } fi
#endif
  od
}

/* action: post. */
active proctype Client() {
end:
  do
  :: atomic { signals > 0 -> signals--;
       if :: !l_closed -> l_wake = RAISED(l_wake); posts++; inbox = posts; if :: l_session == FREE -> ready++ :: else fi :: else fi }
  od
}

#define ANY(what) (session[1] == what || session[2] == what || session[3] == what || session[4] == what || session[5] == what || session[6] == what || session[7] == what)

active proctype Reaper() {
  byte n;
end:
  do
  /* action: reap_sessions. All whose time is over are marked, under their locks. */
  :: d_step { ANY(OVER) -> n = 1; do :: n < SESSIONS -> if :: session[n] == OVER -> session[n] = DEAD :: else fi; n++ :: else -> break od; n = 0 }
  /* action: reap_leases. A lease that names a dead session is freed under a higher token; a dead session that no lease names is done with. */
  :: d_step { ANY(DEAD) ->
       if
       :: l_session != FREE && session[l_session] == DEAD -> l_token = MINT(l_token); l_session = FREE; if :: !l_closed -> ready++ :: else fi
       :: else
       fi;
       n = 1; do :: n < SESSIONS -> if :: session[n] == DEAD && l_session != n -> session[n] = REAPED :: else fi; n++ :: else -> break od; n = 0 }
  od
}

/* The database's clock: sessions of processes that are gone end always, others while the budget lasts. */
#define ENDS(n) :: atomic { session[n] == ALIVE && (orphan[n] || trouble > 0) -> if :: orphan[n] -> skip :: else -> trouble-- fi; session[n] = OVER }
active proctype Clock() {
end:
  do
  ENDS(1) ENDS(2) ENDS(3) ENDS(4) ENDS(5) ENDS(6) ENDS(7)
  od
}

#ifdef QUEUE
/* action: relay. Ready rows become messages; one is lost, one comes twice. */
active proctype Relay() {
  byte lost = 1, twice = 1;
end:
  do
  :: atomic { ready > 0 && !told && messages < 2 -> told = true;
       if :: messages++ :: lost > 0 -> lost-- :: twice > 0 -> twice--; messages = messages + 2 fi }
  od
}
#endif

#ifdef FAILOVER
/* action: failover. A standby that lags is promoted: what was committed after its copy is gone, the timeline is a new one. */
active proctype Standby() {
  byte n;
  atomic { r_session = l_session; r_token = l_token; r_wake = l_wake; r_head = head; r_head_token = head_token; r_done = done; r_read = read;
           r_signals = signals; r_ready = ready; r_inbox = inbox; r_attempt = attempt; r_closed = l_closed;
           n = 1; do :: n < SESSIONS -> r_s[n] = session[n]; n++ :: else -> break od };
  atomic { l_session = r_session; l_token = r_token; l_wake = r_wake; head = r_head; head_token = r_head_token; done = r_done; read = r_read;
           signals = r_signals;  /* an acknowledged signal that was lost is posted again: the loss of an asynchronous failover */
           ready = r_ready; inbox = r_inbox; attempt = r_attempt; l_closed = r_closed;
           n = 1; do :: n < SESSIONS -> if :: r_s[n] == UNUSED && session[n] != UNUSED -> session[n] = REAPED; orphan[n] = true
                                          :: r_s[n] != UNUSED && session[n] >= OVER -> session[n] = OVER; orphan[n] = true :: else fi; n++
                     :: else -> break od;
#ifndef MUT_NO_TIMELINE
           epoch++;
#endif
           promoted = true }
}
#endif

init { atomic {
  byte n = 0;
  do
  :: n < W -> n++; session[n] = ALIVE; run Worker(n)
  :: else -> break od } }

ltl ends { <> l_closed }
