from gascity.guest.client import Client as Client
