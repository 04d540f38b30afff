"""Are the codes that were assembled for a population the right ones?"""
