"""What every process of ours needs around its work: heartbeats (`heartbeat`) and a log (`logs`)."""
