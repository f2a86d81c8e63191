"""What every rank needs to train and to be measured, whatever it trains.

Who the ranks are and how they meet, moments of the device's timeline and steps made of them,
progress, the table of steps, failures with a class of their own. Importing this package imports no
torch; most of its modules do.
"""
