"""Types that users define."""
