"""stub"""
def report_text(r): return str(r.to_dict())
