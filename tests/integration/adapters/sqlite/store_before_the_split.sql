BEGIN TRANSACTION;
CREATE TABLE approval_tokens (exploration_id TEXT PRIMARY KEY, token TEXT NOT NULL);
INSERT INTO "approval_tokens" VALUES('dd23a10d-b956-8c1f-a7e3-10a4de0aeb24','token');
CREATE TABLE approvals (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, exploration_id TEXT NOT NULL,
    decided INTEGER NOT NULL, record TEXT NOT NULL);
INSERT INTO "approvals" VALUES(1,'32f0537c-2e7e-5eae-ae82-cb4eac39131e','dd23a10d-b956-8c1f-a7e3-10a4de0aeb24',0,'{"id":"32f0537c-2e7e-5eae-ae82-cb4eac39131e","exploration_id":"dd23a10d-b956-8c1f-a7e3-10a4de0aeb24","call_id":"a.txt new\n","proposal":{"path":"a.txt","kind":"edit","content":"new\n","diff":"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n","base_sha":"3367afdbbf91e638efe983616377c60477cc6612","content_hash":"7aa7a5359173d05b63cfd682e3c38487f3cb4f7f1d60659fe59fab1505977d4c","description":"Change a.txt"},"requested_at":"2026-11-16T09:00:00Z","decision":null,"content":null,"reason":null,"decided_by":null,"decided_at":null}');
CREATE TABLE deliveries (id TEXT PRIMARY KEY, due TEXT NOT NULL);
CREATE TABLE entries (
    id TEXT NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (id, number));
INSERT INTO "entries" VALUES('dd23a10d-b956-8c1f-a7e3-10a4de0aeb24',0,X'789C3DC8C10980300C46E155E43F1707E802CE116C2AC59294B40141DCDD5EF4F6BE77E32C9210D1A9240434B7A69DE7D8554611E7398DA9AB208AD71A4007951FE67F72CE6AE3D3E06B36365D54563C2F375422EE');
INSERT INTO "entries" VALUES('dd23a10d-b956-8c1f-a7e3-10a4de0aeb24',1,X'789C3DC8410A80201046E1ABC4BF960EE0455A4B8E312433322A05D1DD7393BBF7BD07274B84470D1CE150BA15AD34C6AED2583A8D6914AA0ABCF49C1DC21178C2FA4C4A49ADFD6A748FC666DC6811BD56BC1FCAF324BA');
CREATE TABLE events (
    id TEXT NOT NULL, number INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (id, number));
INSERT INTO "events" VALUES('dd23a10d-b956-8c1f-a7e3-10a4de0aeb24',1,'text_delta','{"type":"text_delta","content":"queued"}');
INSERT INTO "events" VALUES('dd23a10d-b956-8c1f-a7e3-10a4de0aeb24',2,'text_delta','{"type":"text_delta","content":"hello"}');
CREATE TABLE explorations (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, position TEXT NOT NULL, status TEXT NOT NULL,
    lease INTEGER NOT NULL, cancel_requested INTEGER NOT NULL, record TEXT NOT NULL);
INSERT INTO "explorations" VALUES('dd23a10d-b956-8c1f-a7e3-10a4de0aeb24','ada','2026-11-16T09:00:00.000000Z#dd23a10d-b956-8c1f-a7e3-10a4de0aeb24','running',1,0,'{"id":"dd23a10d-b956-8c1f-a7e3-10a4de0aeb24","run":1,"owner":"ada","request":{"idea":"A library of tools","toolset":"research","mode":"business","model":"sonnet","effort":null,"context":null,"update":false,"continue_from":null,"if_exists":"run","collect_tool_stats":false,"max_cost_usd":null,"max_steps":null,"deadline_seconds":120,"webhook_url":null,"callback_secret":null,"repository":null,"ref":null,"files":[]},"status":"running","by_command":false,"conversation_id":"01a1e395-ae80-7a30-af49-e78d8f5fff56","created_at":"2026-11-16T09:00:00Z","updated_at":"2026-11-16T09:00:00Z","started_at":"2026-11-16T09:00:00Z","finished_at":null,"deadline_at":null,"awaiting_since":null,"pause":null,"lease":1,"cancel_requested":false,"stats":{"steps":0,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"searches":0,"cost_usd":null,"unconfirmed_usd":0.0,"over_budget_usd":0.0,"stop_reason":null,"citations":0,"unmatched_citations":0,"step_durations":[],"tool_calls":[]},"outcome":null,"base_cost_usd":0.0,"base_steps":0,"receipt":null,"min_resume_usd":null,"limit_usd":null,"charged_on":null,"base_commit":null,"builds_on":null,"path":null,"document":null,"commit":null,"branch":null,"url":null,"notice":null,"reused":null,"delivery":{"status":"none","run":0,"attempts":0,"rounds":0,"last_error":null,"at":null,"next_try":null},"verdict":null,"title":"Beekeeping","model_id":null}');
CREATE TABLE holds (
    owner TEXT NOT NULL, day TEXT NOT NULL, run TEXT NOT NULL, usd REAL NOT NULL,
    PRIMARY KEY (owner, day, run));
INSERT INTO "holds" VALUES('ada','2026-11-16','new-1',0.5);
CREATE TABLE idempotency (
    key TEXT PRIMARY KEY, status TEXT NOT NULL, expires INTEGER NOT NULL, locked_until INTEGER,
    payload TEXT NOT NULL, answer TEXT NOT NULL);
INSERT INTO "idempotency" VALUES('submit#2187fa644c67f20986385e89611aebbec17795cd4ce9ef12d12b0314dc26dca0','COMPLETED',1794963819,1794877424385,'d1be903049eb899af33fa48b96fab1fe0a40257820cc277213a6ae4221176c0a','{"id": "1"}');
CREATE TABLE reports (id TEXT PRIMARY KEY, markdown TEXT NOT NULL);
INSERT INTO "reports" VALUES('dd23a10d-b956-8c1f-a7e3-10a4de0aeb24','# Bees
');
CREATE TABLE set_aside (body TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL);
INSERT INTO "set_aside" VALUES('nonsense','not JSON','2026-11-16T09:00:00+00:00');
CREATE TABLE spend (
    owner TEXT NOT NULL, day TEXT NOT NULL, run TEXT NOT NULL, usd REAL NOT NULL,
    PRIMARY KEY (owner, day, run));
INSERT INTO "spend" VALUES('ada','2026-11-16','old-1',0.25);
CREATE TABLE work (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, run INTEGER NOT NULL,
    due REAL NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, taken INTEGER NOT NULL DEFAULT 0);
INSERT INTO "work" VALUES(1,'dd23a10d-b956-8c1f-a7e3-10a4de0aeb24',1,1794819600.0,0,0);
CREATE INDEX by_owner ON explorations (owner, position);
CREATE INDEX by_status ON explorations (status);
CREATE INDEX approvals_of ON approvals (exploration_id, number);
CREATE INDEX work_due ON work (due);
COMMIT;
