"""What runs in a pod: the training programs and the supervisor that measures them."""
