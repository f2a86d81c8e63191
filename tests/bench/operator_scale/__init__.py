"""The operator under load: a real etcd and API server, and an executor that ends jobs at once."""
