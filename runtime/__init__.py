"""What every process of ours needs around its work: heartbeats (`heartbeat`), a log (`logs`), and
children that end with it (`orphans`)."""
