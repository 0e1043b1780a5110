"""The gateway: sessions that outlive their connections, and the websocket that carries them."""
