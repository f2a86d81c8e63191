module gpubench.local/pause

go 1.26
