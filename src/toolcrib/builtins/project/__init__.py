"""What can be told about a project from the files that stand in it. Nothing of it is run or imported."""
