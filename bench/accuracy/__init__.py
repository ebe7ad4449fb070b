"""How right the code intelligence is: symbols and references of public sources, beside engines that are not ours."""
